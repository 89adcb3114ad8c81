"""What counts as the same answer of an API server."""

import json
import re
from typing import Any

_BY_PRESENCE = frozenset({
    "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "lastTransitionTime", "continue",
    "remainingItemCount", "clusterIP", "clusterIPs",
})  # fmt: skip
_LEFT_OUT = frozenset({"managedFields"})
_EMPTY: tuple[Any, ...] = (None, "", {}, [])
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z$")
_AGE = re.compile(r"^(\d+[smhdy])+$|^<unknown>$|^<invalid>$")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Versions and the type names of another language inside of messages.
_BLANKED = (
    (_UID, "<uid>"),
    (re.compile(r"(?:json|yaml): (?:cannot|invalid|line|unknown).*"), "<decoder text>"),
    (re.compile(r"[Rr]esourceVersion: \d+|current: \d+|\d{6,}"), "<n>"),
)


def resolve(value: Any, answers: list[Any]) -> Any:
    """Replace references to fields of earlier answers."""
    if isinstance(value, list):
        return [resolve(v, answers) for v in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        number, *path = value["$ref"]
        found = answers[number]
        for part in path:
            found = found[part]
        return found
    if "$cat" in value:
        return "".join(str(resolve(part, answers)) for part in value["$cat"])
    return {k: resolve(v, answers) for k, v in value.items()}


def judge_status(step: dict[str, Any], code: int, headers: dict[str, str]) -> list[str]:
    """Compare the status code and whether there is a warning; where upstream says 500 we blame the client."""
    if code != step["code"] and not (step["code"] == 500 and code in (400, 422)):
        return [f"code: want {step['code']}, got {code}"]
    if ("warning" in headers) != ("warning" in step["headers"]):
        return [f"warning: want {step['headers'].get('warning')}, got {headers.get('warning')}"]
    return []


def compare(step: dict[str, Any], answer: Any) -> list[str]:
    """Return where an answer differs from the recorded one."""
    found: list[str] = []
    if step["code"] != 500:
        _compare(step["answer"], answer, "", found)
    return found


def _compare(want: Any, got: Any, path: str, found: list[str]) -> None:
    if isinstance(want, dict) and isinstance(got, dict):
        for name in sorted(want.keys() | got.keys()):
            _compare_field(want, got, name, f"{path}.{name}", found)
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, (one, other) in enumerate(zip(want, got, strict=True)):
            _compare(one, other, f"{path}[{i}]", found)
    elif not _is_alike(want, got):
        found.append(f"{path}: want {json.dumps(want)[:200]}, got {json.dumps(got)[:200]}")


def _compare_field(want: dict[str, Any], got: dict[str, Any], name: str, path: str, found: list[str]) -> None:
    one, other = want.get(name), got.get(name)
    if name in _LEFT_OUT or (name == "name" and "generateName" in want):
        return
    if one in _EMPTY and other in _EMPTY:
        return
    if name in _BY_PRESENCE:
        if one in _EMPTY or other in _EMPTY:
            found.append(f"{path}: want {one!r}, got {other!r}")
    elif name == "message":
        if _blank(str(one)) != _blank(str(other)):
            found.append(f"{path}: want {one!r}, got {other!r}")
    else:
        _compare(one, other, path, found)


def _blank(text: str) -> str:
    for pattern, blank in _BLANKED:
        text = pattern.sub(blank, text)
    return text.strip()


def _is_alike(want: Any, got: Any) -> bool:
    if not isinstance(want, str) or not isinstance(got, str):
        return bool(want == got)
    alike = (_TIME.match(want) and _TIME.match(got)) or (_AGE.match(want) and _AGE.match(got))
    return bool(alike) or _UID.sub("", want) == _UID.sub("", got)
