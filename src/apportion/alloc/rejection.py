"""Why a node is refused, kept without names so that equal nodes share the answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apportion.alloc.matching import SelectorFailure
from apportion.alloc.pool_view import PoolView

CANNOT_ALLOCATE: Final = "cannot allocate all claims"
INVALID_POOLS: Final = "invalid resource pools were encountered"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A text with places for what differs between nodes and claims; pool and device are positions.

    ``template`` may use {claim}, {request}, {pool}, {device} and {detail}.
    """

    template: str
    claim: int = -1
    request: str = ""
    pool: int = -1
    device: int = -1
    detail: str = ""
    failure: SelectorFailure | None = None

    def describe(self, claims: Sequence[str], views: Sequence[PoolView]) -> str:
        """Fill in the names: ``claims`` as namespace/name, ``views`` the pools of the node."""
        view = views[self.pool] if self.pool >= 0 else None
        claim = claims[self.claim] if self.claim >= 0 else ""
        device = f"{view.text}/{view.devices[self.device].name}" if view and self.device >= 0 else ""
        if self.failure is not None:
            return self.failure.describe(claim, device)
        return self.template.format(
            claim=claim,
            request=self.request,
            pool=view.text if view else "",
            device=device,
            detail=self.detail,
        )


class Rejected(Exception):
    """Ends the search for a node with a reason of its own."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.template)
        self.rejection = rejection
