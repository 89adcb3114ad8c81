"""What a scenario says, checked field by field. The format stands in docs/play.md."""

from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from apportion.base import InputError

Tree: TypeAlias = dict[str, Any]
# a text, or {"contains": text}
Text: TypeAlias = str | dict[str, str]
STEPS_MAX: Final = 10_000


class ScenarioError(InputError):
    """The file is not a scenario; the text names the line and what to do."""


class _Strict(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of the steps."""


class Refused(_Strict, frozen=True):
    """How the API must refuse a step; what is left out is not looked at."""

    code: int | None = None
    message: Text | None = None
    field: str | None = None


class Apply(_Strict, frozen=True):
    objects: list[Tree] = []
    files: list[str] = []
    refused: Refused | None = None


class Patch(_Strict, frozen=True):
    kind: str
    name: str
    patch: Any
    api_version: str = ""
    namespace: str = ""
    subresource: str = ""
    type: Literal["json", "merge", "strategic"] = "merge"
    refused: Refused | None = None


class Delete(_Strict, frozen=True):
    kind: str
    name: str
    api_version: str = ""
    namespace: str = ""
    force: bool = False
    refused: Refused | None = None


class Run(Struct, frozen=True):
    """``seconds`` of virtual time; None means until everything rests."""

    seconds: float | None


class Restart(Struct, frozen=True):
    component: Literal["scheduler", "controllers", "server"]


class Mark(Struct, frozen=True):
    name: str


class FaultOn(_Strict, frozen=True):
    """Which calls: of the API by verb, kind and name, or of a plugin at an extension point."""

    verb: Literal["get", "list", "create", "update", "patch", "delete", "bind"] | None = None
    kind: str | None = None
    name: str | None = None
    plugin: str | None = None
    point: str | None = None


class Fault(_Strict, frozen=True):
    """The next ``times`` matching calls get this answer; ``lost`` means done, but the answer never arrives."""

    on: FaultOn
    answer: Literal["conflict", "timeout", "lost", "error"]
    times: int = 1


class RequestExpect(_Strict, frozen=True):
    code: int | None = None
    answer: Any = None
    events: list[Any] | None = None


class RawRequest(_Strict, frozen=True):
    """A raw request to the server; ``events`` are those of a watch until ``timeoutSeconds`` in the path."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    body: Any = None
    content_type: str = "application/json"
    expect: RequestExpect = RequestExpect()


class EventItem(_Strict, frozen=True):
    """One or more events that look like this, or exactly ``count``."""

    reason: Text | None = None
    type: Text | None = None
    note: Text | None = None
    regarding: dict[str, str] = {}
    count: int | None = None


class Events(_Strict, frozen=True):
    events: list[EventItem]


class QueueItem(_Strict, frozen=True):
    queue: dict[str, Literal["active", "backoff", "parked", "gated", "inFlight"]]


class Explain(_Strict, frozen=True):
    """What ``apportion explain`` says of a pending pod now; a node is "fits", or part of its rejection."""

    pod: str
    message: Text | None = None
    nodes: dict[str, str | dict[str, Any]] = {}


class ExplainItem(_Strict, frozen=True):
    explain: Explain


class ObjectItem(Struct, frozen=True):
    """A partial object; without a name it stands for some object of its kind."""

    tree: Tree
    count: int | None = None
    absent: bool = False
    unchanged_since: str | None = None


Item: TypeAlias = Events | QueueItem | ExplainItem | ObjectItem


class Expect(Struct, frozen=True):
    items: list[Item]


class Print(Struct, frozen=True):
    what: list[str]


Action: TypeAlias = Apply | Patch | Delete | RawRequest | Run | Restart | Fault | Mark | Expect | Print


class Step(Struct, frozen=True):
    """One step and the line on which it stands."""

    kind: str
    line: int
    action: Action


class Scenario(Struct, frozen=True):
    """``feature_gates`` and ``config`` as they were given; ``kubelets`` is False when no stand-in runs pods."""

    steps: list[Step]
    feature_gates: dict[str, bool]
    config: Tree | None
    kubelets: bool = True


_RESERVED: Final = {"count": int, "absent": bool, "unchangedSince": str}


def read_item(tree: Any) -> Item:
    """Return one item of ``expect``; raises msgspec.ValidationError."""
    if not isinstance(tree, dict):
        raise msgspec.ValidationError("an item is a mapping: a partial object, events, queue or explain")
    if "events" in tree and "kind" not in tree:
        return msgspec.convert(tree, Events)
    if "queue" in tree and "kind" not in tree:
        return msgspec.convert(tree, QueueItem)
    if "explain" in tree and "kind" not in tree:
        return msgspec.convert(tree, ExplainItem)
    if not isinstance(tree.get("kind"), str):
        raise msgspec.ValidationError("an item needs a kind; or it is one of events, queue, explain")
    for name, wanted in _RESERVED.items():
        if name in tree and type(tree[name]) is not wanted:
            raise msgspec.ValidationError(f"expected `{wanted.__name__}` - at `$.{name}`")
    rest = {k: v for k, v in tree.items() if k not in _RESERVED}
    return ObjectItem(rest, tree.get("count"), tree.get("absent", False), tree.get("unchangedSince"))
