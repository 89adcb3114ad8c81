"""A short hash of a pod template: tells revisions of a workload apart.

Upstream hashes Go's own print of the template with FNV-32a; here it is the template's JSON, so the names differ from
those that kube-controller-manager would choose, and look the same.
"""

from typing import Any, Final

import orjson

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_OFFSET: Final = 2166136261
_PRIME: Final = 16777619


def hash_template(template: Any, collisions: int | None) -> str:
    """Return up to ten characters that are safe in a name."""
    state = _OFFSET
    data = orjson.dumps(template, option=orjson.OPT_SORT_KEYS)
    if collisions is not None:
        data += collisions.to_bytes(8, "little")
    for byte in data:
        state = ((state ^ byte) * _PRIME) & 0xFFFFFFFF
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(state))
