"""Names, uids and timestamps that the API server would have given; the same input always gets the same."""

import uuid
from typing import Final

from apportion.api.kinds import Kind, Tree
from apportion.api.validation.metadata import GENERATED_BASE_MAX
from apportion.base import LimitError, Rng, ValidationError

CLAIM_PREFIX_MAX: Final = 57  # 63 less the dash and five characters

# Random namespace of our own for version 5 UUIDs.
_UID_SPACE: Final = uuid.UUID("6f1c0d9e-5f3a-4c55-9d42-8f0b7a3e21c4")
_ATTEMPTS_MAX: Final = 100


def derive_uid(kind: str, namespace: str, name: str) -> str:
    """Return the uid of an object that has none: a version 5 UUID of kind, namespace and name."""
    return str(uuid.uuid5(_UID_SPACE, f"{kind}/{namespace}/{name}"))


class NameGenerator:
    """Turns ``generateName`` into names, like the API server, but from a seed and never twice the same.

    Each (kind, namespace, prefix) draws from a generator of its own, so that objects of one kind do not
    change the names of others, whatever the order of the input.
    """

    def __init__(self, rng: Rng) -> None:
        self._rng = rng
        self._generators: dict[str, Rng] = {}
        self._taken: set[str] = set()

    def reserve(self, kind: str, namespace: str, name: str) -> None:
        """Keep a name from being generated."""
        self._taken.add(f"{kind}/{namespace}/{name}")

    def generate(self, kind: str, namespace: str, prefix: str) -> str:
        """Return a new name: the prefix, cut to 58 bytes, and five random characters."""
        prefix = prefix[:GENERATED_BASE_MAX]
        scope = f"{kind}/{namespace}/"
        key = scope + prefix
        rng = self._generators.get(key)
        if rng is None:
            rng = self._generators[key] = self._rng.fork(key)
        for _ in range(_ATTEMPTS_MAX):
            name = prefix + rng.suffix()
            if scope + name not in self._taken:
                self._taken.add(scope + name)
                return name
        raise LimitError(f"no free name left for {kind} {namespace} with generateName {prefix!r}")


def fill_name(tree: Tree, kind: Kind, names: NameGenerator) -> Tree:
    """Return the object with a name, made from generateName when it has none.

    Raises ValidationError when it has neither.
    """
    metadata = tree["metadata"]
    if metadata.get("name"):
        return tree
    if not metadata.get("generateName"):
        raise ValidationError("metadata.name", "Required value: name or generateName is required")
    namespace = metadata.get("namespace") or ""
    name = names.generate(kind.qualified_name, namespace, metadata["generateName"])
    return {**tree, "metadata": {**metadata, "name": name}}


def fill_identity(tree: Tree, kind: Kind, names: NameGenerator, now: str) -> Tree:
    """Return the object with name, uid and creationTimestamp; those that it has are kept.

    ``now`` is the timestamp (RFC 3339) for objects that have none. Raises ValidationError when there is
    neither a name nor generateName.
    """
    tree = fill_name(tree, kind, names)
    metadata = tree["metadata"]
    if metadata.get("uid") and metadata.get("creationTimestamp"):
        return tree
    metadata = dict(metadata)
    if not metadata.get("uid"):
        namespace = metadata.get("namespace") or ""
        metadata["uid"] = derive_uid(kind.qualified_name, namespace, metadata["name"])
    if not metadata.get("creationTimestamp"):
        metadata["creationTimestamp"] = now
    return {**tree, "metadata": metadata}


def claim_name_prefix(pod: str, claim: str) -> str:
    """Return generateName of the claim for a pod's entry, shortened evenly when both are long."""
    full = f"{pod}-{claim}"
    if len(full) > CLAIM_PREFIX_MAX:
        full_length = len(full)
        pod = pod[: len(pod) * CLAIM_PREFIX_MAX // full_length]
        claim = claim[: len(claim) * CLAIM_PREFIX_MAX // full_length]
        full = f"{pod}-{claim}"
    return f"{full}-"
