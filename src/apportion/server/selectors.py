"""Label and field selectors as they stand in a query.

Source: apimachinery/pkg/labels/selector.go, apimachinery/pkg/fields, and the field labels of each kind's strategy.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from apportion.api import Tree
from apportion.server import errors
from apportion.server.resources import Resource

_TOKEN: Final = re.compile(r"\s*(==|!=|=|!|,|\(|\)|>|<|[^\s,()=!<>]+)")
_REQUIREMENTS_MAX: Final = 100
_INTEGER: Final = re.compile(r"[+-]?\d{1,18}")

Labels: TypeAlias = Mapping[str, str]

_FIELDS: Final = {
    "pods": ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
             "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase", "name"),
    "secrets": ("type",),
    "events": ("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
               "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
               "reportingComponent", "source", "type", "regarding.kind", "regarding.namespace", "regarding.name",
               "regarding.uid"),
    "jobs": ("status.successful",),
    "resourceslices": ("spec.nodeName", "spec.driver"),
}  # fmt: skip
_TYPED: Final = frozenset({"pods", "nodes", "namespaces", "secrets", "events", "jobs", "resourceslices"})


class Selection(NamedTuple):
    """Which objects are asked for; None where nothing was said."""

    labels: Callable[[Labels], bool] | None = None
    fields: Callable[[Tree], bool] | None = None
    name: str | None = None

    @property
    def is_everything(self) -> bool:
        return self.labels is None and self.fields is None

    def matches(self, tree: Tree) -> bool:
        metadata = tree["metadata"]
        if self.labels is not None and not self.labels(metadata.get("labels") or {}):
            return False
        return self.fields is None or self.fields(tree)


def parse_selection(labels: str, fields: str, resource: Resource) -> Selection:
    """Compile the two selectors of a list or watch; raises ApiError 400."""
    requirements = _parse_fields(fields, resource)
    name = next((value for path, equal, value in requirements if path == "metadata.name" and equal), None)
    return Selection(
        parse_labels(labels) if labels.strip() else None, _compile_fields(requirements) if requirements else None, name
    )


# ---- labels -----------------------------------------------------------------------------------------------


def parse_labels(text: str) -> Callable[[Labels], bool]:
    """Compile ``a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1``; raises ApiError 400."""
    tokens = _split(text)
    tests: list[Callable[[Labels], bool]] = []
    while True:
        tests.append(_parse_requirement(tokens))
        if len(tests) > _REQUIREMENTS_MAX:
            raise errors.bad_request(f"a label selector may have at most {_REQUIREMENTS_MAX} requirements")
        if not tokens:
            return lambda labels: all(test(labels) for test in tests)
        if tokens.pop(0) != ",":
            raise _unexpected(",", "',' or 'end of string'")


def _split(text: str) -> list[str]:
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise errors.bad_request(f"unable to parse requirement: found '{text[at:]}', expected: identifier")
        tokens.append(found[1])
        at = found.end()
    return tokens


def _unexpected(found: str, expected: str) -> errors.ApiError:
    return errors.bad_request(f"unable to parse requirement: found '{found}', expected: {expected}")


def _take_word(tokens: list[str], expected: str = "identifier") -> str:
    word = tokens.pop(0) if tokens else ""
    if not word or word in ("=", "==", "!=", "!", ",", "(", ")", ">", "<"):
        raise _unexpected(word, expected)
    return word


def _parse_requirement(tokens: list[str]) -> Callable[[Labels], bool]:
    if tokens and tokens[0] == "!":
        tokens.pop(0)
        absent = _take_word(tokens)
        return lambda labels: absent not in labels
    key = _take_word(tokens, "!, identifier, or 'end of string'")
    if not tokens or tokens[0] == ",":
        return lambda labels: key in labels
    operator = tokens.pop(0)
    if operator in ("in", "notin"):
        values = _parse_values(tokens)
        if operator == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: key not in labels or labels[key] not in values
    if operator in (">", "<"):
        return _compare(key, operator, _take_word(tokens))
    value = _take_word(tokens) if tokens and tokens[0] != "," else ""
    if operator in ("=", "=="):
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    raise _unexpected(operator, "in, notin, =, ==, !=, gt, lt")


def _parse_values(tokens: list[str]) -> frozenset[str]:
    if not tokens or tokens.pop(0) != "(":
        raise errors.bad_request("unable to parse requirement: found '', expected: '('")
    values: set[str] = set()
    while tokens:
        token = tokens.pop(0)
        if token == ")":
            return frozenset(values)
        if token != ",":
            values.add(token)
    raise errors.bad_request("unable to parse requirement: found '', expected: ',', or ')'")


def _compare(key: str, operator: str, text: str) -> Callable[[Labels], bool]:
    if not _INTEGER.fullmatch(text):
        raise errors.bad_request(
            f"values[0][{key}]: Invalid value: \"{text}\": for 'Gt', 'Lt' operators, the value must be an integer"
        )
    bound = int(text)

    def compare(labels: Labels) -> bool:
        value = labels.get(key, "")
        if not _INTEGER.fullmatch(value):
            return False
        return int(value) > bound if operator == ">" else int(value) < bound

    return compare


# ---- fields -----------------------------------------------------------------------------------------------


def _parse_fields(text: str, resource: Resource) -> list[tuple[str, bool, str]]:
    requirements = []
    for part in filter(None, text.split(",")):
        for operator in ("!=", "==", "="):
            path, found, value = part.partition(operator)
            if found:
                requirements.append((_check_field(path, resource), operator != "!=", value))
                break
        else:
            raise errors.bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    return requirements


def _check_field(path: str, resource: Resource) -> str:
    always = ("metadata.name", "metadata.namespace")
    if path in always or path in _FIELDS.get(resource.plural, ()):
        return path
    if resource.plural in _TYPED:
        raise errors.bad_request(f"field label not supported: {path}")
    raise errors.bad_request(f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"')


def _compile_fields(requirements: list[tuple[str, bool, str]]) -> Callable[[Tree], bool]:
    parsed = [
        (path.replace("regarding.", "involvedObject.").split("."), equal, value) for path, equal, value in requirements
    ]
    return lambda tree: all((_read(tree, path) == value) is equal for path, equal, value in parsed)


def _read(tree: Tree, path: list[str]) -> str:
    value: Any = tree
    if path == ["source"]:
        return str((tree.get("source") or {}).get("component") or tree.get("reportingComponent") or "")
    if path == ["name"]:
        path = ["metadata", "name"]
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    if path in (["spec", "unschedulable"], ["spec", "hostNetwork"]):
        return "true" if value else "false"
    return "" if value is None else str(value)
