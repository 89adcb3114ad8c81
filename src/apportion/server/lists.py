"""Reading: get and list, with selectors, pages and versions of the past.

Source: apiserver/pkg/storage (list semantics of resourceVersion and resourceVersionMatch), KEP-2340.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import NamedTuple

import orjson

from apportion.api import Tree
from apportion.base import ValidationError
from apportion.server import errors
from apportion.server.request import Parameters, Target
from apportion.server.selectors import Selection, parse_selection
from apportion.store import CompactedError, Entry, Store


class Page(NamedTuple):
    """Objects of a list, and the metadata of the list."""

    raws: list[bytes]
    metadata: Tree


class _Start(NamedTuple):
    """Where a page begins: after (namespace, name), in the world as of a revision."""

    revision: int
    namespace: str
    name: str


def list_page(store: Store, target: Target, parameters: Parameters) -> Page:
    """Return the objects that a list asks for; raises ApiError 400, 410, 422 and 504."""
    selection = parse_selection(parameters.get("labelSelector"), parameters.get("fieldSelector"), target.resource)
    limit = parameters.get_int("limit") or 0
    token = parameters.get("continue")
    start = _parse_continue(token) if token else None
    revision = start.revision if start is not None else _get_revision(store, parameters)
    entries = _read_entries(store, target, revision)
    if start is not None:
        entries = [e for e in entries if (e.key.namespace, e.key.name) > (start.namespace, start.name)]
    shown, rest = _select(entries, selection, limit)
    metadata: Tree = {"resourceVersion": str(revision)}
    if rest:
        last = shown[-1].key
        metadata["continue"] = _print_continue(_Start(revision, last.namespace, last.name))
        if selection.is_everything:
            metadata["remainingItemCount"] = rest
    return Page([e.value for e in shown], metadata)


def _get_revision(store: Store, parameters: Parameters) -> int:
    """Return the revision to list at: the newest one, unless exactly another one is asked for."""
    text, match = parameters.get("resourceVersion"), parameters.get("resourceVersionMatch")
    if match and not text:
        raise _forbid_match("resourceVersionMatch is forbidden unless resourceVersion is provided")
    wanted = parse_revision(text)
    if match not in ("", "Exact", "NotOlderThan"):
        raise _forbid_match("supported values are Exact and NotOlderThan")
    if match == "Exact" and not wanted:
        raise _forbid_match('resourceVersionMatch "Exact" is forbidden for resourceVersion "0"')
    if wanted > store.revision:
        raise errors.version_too_large(wanted, store.revision)
    return wanted if match == "Exact" else store.revision


def _forbid_match(why: str) -> errors.ApiError:
    problem = ValidationError("resourceVersionMatch", f"Forbidden: {why}")
    return errors.invalid("meta.k8s.io", "ListOptions", "", [problem])


def parse_revision(text: str) -> int:
    """Return a resourceVersion as number, 0 when it is absent; raises ApiError 400."""
    if not text:
        return 0
    if not text.isascii() or not text.isdecimal() or len(text) > 19:
        raise errors.bad_request(
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def _read_entries(store: Store, target: Target, revision: int) -> Sequence[Entry]:
    storage, namespace = target.resource.storage, target.namespace
    if revision == store.revision:
        return store.list_entries(storage, namespace)
    try:
        return store.list_entries_at(storage, namespace, revision)
    except CompactedError as error:
        raise errors.expired(f"The provided continue parameter or resourceVersion is too old: {error}") from None


def _select(entries: Sequence[Entry], selection: Selection, limit: int) -> tuple[list[Entry], int]:
    """Return the page, and how many entries follow it (with a selector: whether any match follows)."""
    if selection.is_everything:
        shown = list(entries[:limit] if limit else entries)
        return shown, len(entries) - len(shown)
    shown = []
    for entry in entries:
        if selection.name is not None and entry.key.name != selection.name:
            continue
        if selection.matches(orjson.loads(entry.value)):
            if limit and len(shown) == limit:
                return shown, 1
            shown.append(entry)
    return shown, 0


# ---- continue tokens --------------------------------------------------------------------------------------


def _print_continue(start: _Start) -> str:
    raw = orjson.dumps({"v": "meta.k8s.io/v1", "rv": start.revision, "start": [start.namespace, start.name]})
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _parse_continue(token: str) -> _Start:
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        raise errors.bad_request("invalid continue token: continue key is not valid: illegal base64 data") from None
    try:
        parsed = orjson.loads(raw)
        (namespace, name), revision = parsed["start"], parsed["rv"]
        if isinstance(namespace, str) and isinstance(name, str) and isinstance(revision, int):
            return _Start(revision, namespace, name)
    except (ValueError, TypeError, KeyError):
        pass
    first = raw[:1].decode("latin-1")
    shown = first if first.isprintable() else f"\\u{ord(first or chr(0)):04x}"
    raise errors.bad_request(
        f"invalid continue token: continue key is not valid: invalid character '{shown}' looking for beginning of value"
    )
