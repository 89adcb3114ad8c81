"""Which claims go with a pod that is gone: those that were made for it."""

from typing import Final

import msgspec

_DELETED: Final = b'{"type":"DELETED"'


class _ClaimName(msgspec.Struct, rename="camel", frozen=True):
    resource_claim_name: str | None = None


class _Status(msgspec.Struct, rename="camel", frozen=True):
    resource_claim_statuses: tuple[_ClaimName, ...] = ()
    extended_resource_claim_status: _ClaimName | None = None


class _Meta(msgspec.Struct, frozen=True):
    namespace: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta
    status: _Status = _Status()


class _Frame(msgspec.Struct, frozen=True):
    object: _Pod


_DECODE: Final = msgspec.json.Decoder(_Frame).decode


def find_owned_claims(frame: bytes) -> tuple[str, list[str]]:
    """Return namespace and names of the claims of a pod that a watch event shows to be gone; none otherwise."""
    if not frame.startswith(_DELETED):
        return "", []
    pod = _DECODE(frame).object
    named = [*pod.status.resource_claim_statuses, pod.status.extended_resource_claim_status]
    return pod.metadata.namespace, [n.resource_claim_name for n in named if n is not None and n.resource_claim_name]
