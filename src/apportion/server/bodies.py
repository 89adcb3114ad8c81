"""From the body of a request to a canonical object, with the words the original has for what is wrong.

Source: apiserver/pkg/endpoints/handlers and apimachinery/pkg/runtime/serializer.
"""

import json
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final

import orjson
import yaml

from apportion.api import Tree
from apportion.base import ValidationError
from apportion.server import errors, protobuf
from apportion.server.deprecation import Header, print_warning
from apportion.server.request import Parameters
from apportion.server.resources import Resource
from apportion.server.schema import DecodeError, canonicalize

_TYPES_TEXT: Final = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_POLICIES: Final = ("", "Ignore", "Strict", "Warn")
DEPTH_MAX: Final = 100
# What Python's decoder says -> what Go's says.
_JSON_TEXTS: Final = (
    ("Expecting property name", "looking for beginning of object key string"),
    ("Expecting value", "looking for beginning of value"),
    ("Expecting ':'", "after object key"),
    ("Expecting ','", "after object key:value pair"),
    ("Extra data", "after top-level value"),
)


class _Loader(yaml.SafeLoader):
    """Plain YAML: no aliases (one of them can stand for gigabytes), and dates stay text."""

    yaml_implicit_resolvers = {
        first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases are not accepted")
        return super().compose_node(parent, index)


@dataclass(slots=True)
class Strictness:
    """What to do about unknown and duplicate fields; ``warnings`` become headers of the answer."""

    policy: str = "Warn"
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, parameters: Parameters, options_kind: str) -> "Strictness":
        if not parameters.pairs:
            return cls()
        policy = parameters.get("fieldValidation")
        if policy not in _POLICIES:
            known = ", ".join(f'"{p}"' for p in _POLICIES)
            problem = f'Unsupported value: "{policy}": supported values: {known}'
            raise errors.invalid("meta.k8s.io", options_kind, "", [ValidationError("fieldValidation", problem)])
        return cls(policy or "Warn")

    @property
    def headers(self) -> tuple[Header, ...]:
        """The warnings as headers."""
        return tuple(print_warning(w) for w in self.warnings)

    def __enter__(self) -> None:
        """Inside, an error tells the warnings that came before it."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, errors.ApiError):
            error.headers += self.headers

    def judge(self, problems: list[str], where: str) -> None:
        """Refuse, warn or stay silent; ``where`` opens the message of a refusal."""
        if problems and self.policy == "Strict":
            raise errors.bad_request(f"{where}strict decoding error: {', '.join(problems)}")
        if self.policy == "Warn":
            self.warnings += problems


def parse_dry_run(parameters: Parameters, options_kind: str) -> bool:
    """Return whether nothing may be stored; raises ApiError 422 for values other than All."""
    values = parameters.get_all("dryRun") if parameters.pairs else ()
    if any(v != "All" for v in values):
        printed = orjson.dumps(values).decode()
        problem = ValidationError("dryRun", f'Unsupported value: {printed}: supported values: "All"')
        raise errors.invalid("meta.k8s.io", options_kind, "", [problem])
    return bool(values)


def parse_body(body: bytes, content_type: str, must_be: str) -> tuple[Tree, list[str]]:
    """Return the object in a JSON, YAML or protobuf body, and what a strict reader objects to.

    Raises ApiError 415 for other types, 400 for what cannot be read; ``must_be`` is the kind that was expected.
    """
    media = content_type.split(";", maxsplit=1)[0].strip()
    if media == "application/yaml":
        return _parse_yaml(body, must_be), []
    if media == protobuf.MEDIA_TYPE:
        return _parse_protobuf(body, must_be)
    if media not in ("", "application/json"):
        raise errors.ApiError(
            415,
            "UnsupportedMediaType",
            f"the body of the request was in an unknown format - accepted media types include: {_TYPES_TEXT}",
        )
    try:
        tree = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _unrecognized(must_be, f"json parse error: {_explain_json(body)} ({_quote(body)})") from None
    if not isinstance(tree, dict):
        raise _unrecognized(must_be, "json parse error: json: cannot unmarshal it into an object")
    if may_be_deep(body):
        check_depth(tree)
    return tree, find_duplicate_fields(body, tree)


def _parse_yaml(body: bytes, must_be: str) -> Tree:
    try:
        tree = yaml.load(body, _Loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise _unrecognized(must_be, f"yaml: {error}") from None
    if not isinstance(tree, dict):
        raise _unrecognized(must_be, "json parse error: json: cannot unmarshal it into an object")
    check_depth(tree)
    return tree


def _parse_protobuf(body: bytes, must_be: str) -> tuple[Tree, list[str]]:
    try:
        tree, problems = protobuf.decode_body(body)
    except protobuf.ProtobufError as error:
        raise errors.bad_request(f"the object provided is unrecognized (must be of type {must_be}): {error}") from None
    check_depth(tree)
    return tree, problems


def _unrecognized(must_be: str, why: str) -> errors.ApiError:
    return errors.bad_request(
        f"the object provided is unrecognized (must be of type {must_be}): couldn't get version/kind; {why}"
    )


def _quote(body: bytes) -> str:
    return body[:1024].decode("utf-8", "replace") or "<empty>"


def _explain_json(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    try:
        json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        position = getattr(error, "pos", len(text))
        if position >= len(text):
            return "unexpected end of JSON input"
        what = next((go for python, go in _JSON_TEXTS if str(error).startswith(python)), "in literal")
        return f"invalid character '{text[position]}' {what}"
    return "invalid JSON"


def may_be_deep(body: bytes) -> bool:
    """Return whether JSON has so many brackets that it may be nested too deep; most bodies have not."""
    return body.count(b"{") + body.count(b"[") > DEPTH_MAX


def check_depth(value: Any) -> None:
    """Raise ApiError 400 when a tree is nested more than a hundred levels deep."""
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise errors.bad_request(f"the object is nested more than {DEPTH_MAX} levels deep")


def find_duplicate_fields(body: bytes, tree: Any) -> list[str]:
    """Return the paths of fields that an object names twice.

    Encoding the parsed object again tells cheaply that there are none, for bodies without extra white space.
    """
    if len(orjson.dumps(tree)) == len(body.strip()):
        return []
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, value in pairs:
            if name in out:
                found.append(name)
            out[name] = value
        return out

    json.loads(body, object_pairs_hook=note)
    return [f'duplicate field "{_find_path(tree, name)}"' for name in dict.fromkeys(found)]


def _find_path(tree: Any, name: str, path: str = "") -> str:
    """Return the first path that ends in a field called ``name``."""
    if isinstance(tree, list):
        children = [(f"{path}[{i}]", v) for i, v in enumerate(tree)]
    elif isinstance(tree, dict):
        if name in tree:
            return f"{path}.{name}" if path else name
        children = [(f"{path}.{k}" if path else k, v) for k, v in tree.items()]
    else:
        return ""
    return next((p for p in (_find_path(v, name, at) for at, v in children) if p), "")


def decode_object(body: bytes, content_type: str, resource: Resource, strictness: Strictness) -> Tree:
    """Return the canonical object of a create or update; a missing apiVersion or kind is filled in.

    Raises ApiError 400 and 415.
    """
    kind = resource.kind.name
    tree, problems = parse_body(body, content_type, kind)
    given = tree.get("kind") or kind
    version = tree.get("apiVersion") or resource.api_version
    where = f'{given} in version "{str(version).rpartition("/")[2]}" cannot be handled as a {kind}: '
    if version != resource.api_version:
        what = f'no kind "{given}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
        raise errors.bad_request(where + what)
    if given != kind:
        group = (resource.group or "core").split(".")[0]
        what = f"converting ({resource.version}.{given}) to ({group}.{kind}): unknown conversion"
        raise errors.bad_request(where + what)
    try:
        return canonicalize_object(tree, resource, strictness, problems, where)
    except DecodeError as error:
        raise errors.bad_request(where + str(error)) from None


def canonicalize_object(
    tree: Tree,
    resource: Resource,
    strictness: Strictness,
    problems: list[str],
    where: str,
    before: Tree | None = None,
) -> Tree:
    """Return the canonical form of an object, with apiVersion and kind. Raises DecodeError, and ApiError 400.

    ``before`` is the canonical object that ``tree`` was made of.
    """
    unknown: list[str] = []
    known = canonicalize(tree, resource.shape, resource.kind.name, unknown, before)
    strictness.judge(problems + [f'unknown field "{u}"' for u in sorted(unknown)], where)
    known.pop("kind", None)
    known.pop("apiVersion", None)
    metadata = known.pop("metadata", {})
    metadata.pop("managedFields", None)
    metadata.pop("selfLink", None)
    return {"kind": resource.kind.name, "apiVersion": resource.api_version, "metadata": metadata, **known}
