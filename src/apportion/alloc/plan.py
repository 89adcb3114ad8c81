"""What a set of claims asks for, read once per combination of claim specs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apportion.alloc.derived import DerivedAttributes
from apportion.alloc.features import Features
from apportion.alloc.matching import Matcher, MatcherIndex
from apportion.alloc.rejection import Rejection
from apportion.api.core import Toleration
from apportion.api.resource import (
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from apportion.api.view import QuantityText

RESULTS_MAX: Final = 32  # devices in the allocation of one claim (AllocationResultsMaxSize)
BEST_SCORE: Final = 8  # of the first sub-request (FirstAvailableDeviceRequestMaxSize)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to satisfy a request: the request itself, or one of its sub-requests."""

    id: int  # position in Plan.alternatives
    request: int  # position in Plan.requests
    claim: int
    name: str  # as results name it: "request" or "request/sub-request"
    own_name: str
    class_name: str
    matcher: Matcher
    takes_all: bool
    count: int
    admin_access: bool
    tolerations: tuple[Toleration, ...]
    capacity: Mapping[str, QuantityText]
    constraints: tuple[int, ...]  # positions in Plan.constraints
    derived: DerivedAttributes | None
    score: int  # 8 for the most preferred sub-request, one less for each that follows; 0 without a choice


@dataclass(frozen=True, slots=True)
class Request:
    claim: int
    name: str
    is_prioritized: bool
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class Constraint:
    claim: int
    index: int  # position in the claim
    attribute: str
    is_distinct: bool
    spec: DeviceConstraint


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The requests of all claims in search order.

    ``fault`` is the text of the PreFilter answer when no node needs to be looked at; ``rejection`` refuses
    every node.
    """

    specs: tuple[ResourceClaimSpec, ...]
    classes: tuple[tuple[str, DeviceClass | None], ...]
    requests: tuple[Request, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    fault: str | None = None
    rejection: Rejection | None = None


class _Unusable(Exception):
    def __init__(self, rejection: Rejection, fault: str | None = None) -> None:
        super().__init__()
        self.rejection = rejection
        self.fault = fault


def build_plan(
    specs: Sequence[ResourceClaimSpec],
    find_class: Callable[[str], DeviceClass | None],
    features: Features,
    matchers: MatcherIndex,
) -> Plan:
    """Read claim specs against the classes that exist; texts of refusals follow the upstream allocator."""
    builder = _Builder(find_class, features, matchers)
    fault, rejection = None, None
    try:
        for i, spec in enumerate(specs):
            builder.add_claim(i, spec)
    except _Unusable as error:
        fault, rejection = error.fault, error.rejection
    return Plan(
        specs=tuple(specs),
        classes=tuple(builder.classes.items()),
        requests=tuple(builder.requests),
        alternatives=tuple(builder.alternatives),
        constraints=tuple(builder.constraints),
        fault=fault,
        rejection=rejection,
    )


class _Builder:
    def __init__(
        self,
        find_class: Callable[[str], DeviceClass | None],
        features: Features,
        matchers: MatcherIndex,
    ) -> None:
        self._find_class = find_class
        self._features = features
        self._matchers = matchers
        self.classes: dict[str, DeviceClass | None] = {}
        self.requests: list[Request] = []
        self.alternatives: list[Alternative] = []
        self.constraints: list[Constraint] = []

    def add_claim(self, claim: int, spec: ResourceClaimSpec) -> None:
        devices = spec.devices
        first = len(self.constraints)
        for i, c in enumerate(devices.constraints):
            attribute = c.match_attribute or c.distinct_attribute
            if not attribute:
                raise _refuse(claim, f"constraint #{i}", "empty constraint (unsupported constraint type?)")
            self.constraints.append(Constraint(claim, i, attribute, not c.match_attribute, c))
        of_claim = tuple(range(first, len(self.constraints)))
        for request in devices.requests:
            self._add_request(claim, request, of_claim)

    def _add_request(self, claim: int, request: DeviceRequest, of_claim: tuple[int, ...]) -> None:
        where = f"request {request.name}"
        subs: Sequence[DeviceSubRequest | ExactDeviceRequest] = request.first_available
        if subs and not self._features.prioritized_list:
            text = "has subrequests, but the DRAPrioritizedList feature is disabled"
            raise _refuse(claim, where, text, fault=f"request {request.name}: {text}")
        if not subs and request.exactly is None:
            text = "no valid request type is set (unsupported request type?)"
            raise _refuse(claim, where, text, fault=f"request {request.name}: {text}")
        first = len(self.alternatives)
        for i, sub in enumerate(request.first_available):
            self._add_alternative(claim, request.name, sub.name, sub, of_claim, BEST_SCORE - i)
        if request.exactly is not None and not subs:
            self._add_alternative(claim, request.name, "", request.exactly, of_claim, 0)
        added = tuple(self.alternatives[first:])
        self.requests.append(Request(claim, request.name, bool(subs), added))

    def _add_alternative(
        self,
        claim: int,
        request: str,
        sub: str,
        asked: DeviceSubRequest | ExactDeviceRequest,
        of_claim: tuple[int, ...],
        score: int,
    ) -> None:
        name = f"{request}/{sub}" if sub else request
        own_name = sub or request
        where = f"request {own_name}"
        self._check_asked(claim, where, asked, bool(sub))
        device_class = self._get_class(claim, where, name, asked.device_class_name)
        constraints = tuple(c for c in of_claim if self._is_covered(c, request, name))
        self.alternatives.append(
            Alternative(
                id=len(self.alternatives),
                request=len(self.requests),
                claim=claim,
                name=name,
                own_name=own_name,
                class_name=asked.device_class_name,
                matcher=self._matchers.intern(device_class, asked.selectors),
                takes_all=asked.allocation_mode == "All",
                # A count of 0 stands for the default in objects that no API server has completed.
                count=asked.count or 1,
                admin_access=isinstance(asked, ExactDeviceRequest) and bool(asked.admin_access),
                tolerations=asked.tolerations,
                capacity=asked.capacity.requests if asked.capacity else {},
                constraints=constraints,
                derived=self._read_derived(claim, where, asked, constraints),
                score=score,
            )
        )

    def _is_covered(self, constraint: int, request: str, name: str) -> bool:
        named = self.constraints[constraint].spec.requests
        return not named or request in named or name in named

    def _check_asked(self, claim: int, where: str, asked: DeviceSubRequest | ExactDeviceRequest, is_sub: bool) -> None:
        features = self._features
        if asked.capacity is not None and asked.capacity.requests and not features.consumable_capacity:
            word = "subrequest" if is_sub else "request"
            text = f"{word} has capacity requests, but the DRAConsumableCapacity feature is disabled"
            raise _refuse(claim, where, text)
        for i, selector in enumerate(asked.selectors):
            if selector.cel is None:
                raise _refuse(claim, where, f"selector #{i}: CEL expression empty (unsupported selector type?)")
        asks_admin = isinstance(asked, ExactDeviceRequest) and asked.admin_access is not None
        if asks_admin and not features.admin_access:
            raise _refuse(claim, where, "admin access is requested, but the feature is disabled")
        if asked.allocation_mode not in ("", "All", "ExactCount"):
            raise _refuse(claim, where, f"unsupported count mode {asked.allocation_mode}")

    def _read_derived(
        self, claim: int, where: str, asked: DeviceSubRequest | ExactDeviceRequest, constraints: tuple[int, ...]
    ) -> DerivedAttributes | None:
        if not asked.derived_attributes or not self._features.derived_attributes:
            return None
        used = {self.constraints[c].attribute for c in constraints}
        for i, entry in enumerate(asked.derived_attributes):
            if entry.name not in used:
                text = f"derived attribute #{i}: no constraint of the request uses {entry.name}"
                raise _refuse(claim, where, text)
        return DerivedAttributes(asked.derived_attributes, self._features.list_type_attributes)

    def _get_class(self, claim: int, where: str, name: str, class_name: str) -> DeviceClass:
        if not class_name:
            text = "missing device class name (unsupported request type?)"
            raise _refuse(claim, where, text, fault=f"request {name}: {text}")
        found = self.classes[class_name] = self._find_class(class_name)
        if found is None:
            raise _refuse(
                claim,
                where,
                f"could not retrieve device class {class_name}",
                fault=f"request {name}: device class {class_name} does not exist",
            )
        return found


def _refuse(claim: int, where: str, text: str, fault: str | None = None) -> _Unusable:
    rejection = Rejection("claim {claim}, {request}: {detail}", claim=claim, request=where, detail=text)
    return _Unusable(rejection, fault)
