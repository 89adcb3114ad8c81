"""Why claims can or cannot be allocated on a node, as data for whoever prints it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SelectorError:
    """A selector that failed on devices of the node."""

    origin: str  # "class" or "claim": whose selector it is
    owner: str  # name of the class, or namespace/name of the claim
    index: int  # position in the owner's list of selectors
    expression: str
    text: str
    attribute: str | None  # the id that was looked up and does not exist, if that was the fault
    device: str  # the first device it failed on, driver/pool/device
    device_count: int


@dataclass(frozen=True, slots=True)
class RequestExplanation:
    """Devices of the node as one request, or one of its alternatives, sees them."""

    request: str  # "request" or "request/sub-request"
    device_class: str
    wanted: int | None  # None for All
    seen: int
    matching: int
    taken: int  # of the matching ones: held by others
    tainted: int  # of the matching ones: with a taint that the request does not tolerate
    free: int  # of the matching ones: neither taken nor refused
    errors: tuple[SelectorError, ...] = ()


@dataclass(frozen=True, slots=True)
class ConstraintExplanation:
    """A constraint without which the claim could be allocated on its own."""

    index: int  # position in the claim's list of constraints
    kind: str  # "matchAttribute" or "distinctAttribute"
    attribute: str
    requests: tuple[str, ...]  # as in the claim; () stands for all
    values: tuple[str, ...]  # "value on n": of the matching free devices, sorted; "absent" where there is none


@dataclass(frozen=True, slots=True)
class ClaimExplanation:
    claim: str  # namespace/name
    fits_alone: bool
    requests: tuple[RequestExplanation, ...]
    unmet_constraints: tuple[ConstraintExplanation, ...]
    exhausted: tuple[str, ...] = ()  # "shared counters", "shared capacity": more of it would be enough


@dataclass(frozen=True, slots=True)
class PoolProblem:
    """A pool whose publisher has something to mend; ``state``: incomplete, invalid, or colliding."""

    driver: str
    pool: str
    state: str
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The full answer for one node; ``detail`` is the most telling fact in one sentence."""

    node: str
    fits: bool
    reason: str  # as in Answer
    claims: tuple[ClaimExplanation, ...]
    pools: tuple[PoolProblem, ...]
    detail: str
