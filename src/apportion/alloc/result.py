"""From picks to the AllocationResult of each claim."""

from collections.abc import Callable, Sequence

from apportion.alloc.capacity import find_amounts
from apportion.alloc.checks import Pick
from apportion.alloc.features import Features
from apportion.alloc.plan import Alternative, Plan
from apportion.alloc.pool_view import PoolView
from apportion.alloc.slices import PublishedDevice
from apportion.api.resource import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from apportion.api.view import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm


class ResultBuilder:
    """Turns positions into names; one builder per decision."""

    def __init__(
        self,
        plan: Plan,
        views: Sequence[PoolView],
        node: str,
        features: Features,
        make_share_id: Callable[[], str],
    ) -> None:
        self._plan = plan
        self._views = views
        self._node = node
        self._features = features
        self._make_share_id = make_share_id

    def build(self, picks: Sequence[Pick]) -> tuple[AllocationResult, ...]:
        """Return one result per claim, in the order of the claims."""
        by_claim: list[list[Pick]] = [[] for _ in self._plan.specs]
        for pick in picks:
            by_claim[pick.alternative.claim].append(pick)
        return tuple(self._build_claim(i, own) for i, own in enumerate(by_claim))

    def _build_claim(self, claim: int, picks: list[Pick]) -> AllocationResult:
        devices = [self._views[p.pool].devices[p.device] for p in picks]
        return AllocationResult(
            devices=DeviceAllocationResult(
                results=tuple(self._build_device(p, d) for p, d in zip(picks, devices, strict=True)),
                config=self._merge_config(claim, picks),
            ),
            node_selector=_build_node_selector(devices, self._node),
        )

    def _build_device(self, pick: Pick, device: PublishedDevice) -> DeviceRequestAllocationResult:
        alternative, signature = pick.alternative, device.signature
        consumed: dict[str, str] = {}
        if signature.multi:
            amounts = find_amounts(signature, alternative.capacity, self._features) or ()
            names = (c.name for c in signature.capacity)
            consumed = {name: str(q) for name, q in zip(names, amounts, strict=True)}
        with_conditions = self._features.binding_conditions
        skips = self._features.optional_node_operations
        return DeviceRequestAllocationResult(
            request=alternative.name,
            driver=signature.driver,
            pool=self._views[pick.pool].pool.name,
            device=device.name,
            admin_access=True if alternative.admin_access else None,
            tolerations=alternative.tolerations,
            binding_conditions=device.view.binding_conditions if with_conditions else (),
            binding_failure_conditions=device.view.binding_failure_conditions if with_conditions else (),
            share_id=self._make_share_id() if signature.multi else None,
            consumed_capacity=dict(consumed),
            skip_node_operations=device.slice.view.spec.skip_node_operations if skips else (),
        )

    def _merge_config(self, claim: int, picks: list[Pick]) -> tuple[DeviceAllocationConfiguration, ...]:
        """Merge class and claim configuration; one that covers every request names none."""
        chosen = {p.alternative.request: p.alternative for p in picks}
        alternatives = [chosen[r] for r in sorted(chosen)]
        merged = self._list_class_config(alternatives) + self._list_claim_config(claim, alternatives)
        return tuple(
            DeviceAllocationConfiguration(source=c.source, opaque=c.opaque)
            if all(self._is_named(a, c.requests) for a in alternatives)
            else c
            for c in merged
        )

    def _is_named(self, alternative: Alternative, requests: Sequence[str]) -> bool:
        return self._plan.requests[alternative.request].name in requests or alternative.name in requests

    def _list_class_config(self, alternatives: list[Alternative]) -> list[DeviceAllocationConfiguration]:
        users: dict[str, list[str]] = {}
        for a in alternatives:
            users.setdefault(a.class_name, []).append(a.name)
        classes = dict(self._plan.classes)
        return [
            DeviceAllocationConfiguration(source="FromClass", requests=tuple(names), opaque=config.opaque)
            for class_name, names in users.items()
            if (found := classes[class_name]) is not None
            for config in found.spec.config
        ]

    def _list_claim_config(self, claim: int, alternatives: list[Alternative]) -> list[DeviceAllocationConfiguration]:
        return [
            DeviceAllocationConfiguration(source="FromClaim", requests=c.requests, opaque=c.opaque)
            for c in self._plan.specs[claim].devices.config
            if not c.requests or any(self._is_named(a, c.requests) for a in alternatives)
        ]


def _build_node_selector(devices: Sequence[PublishedDevice], node: str) -> NodeSelector | None:
    """Return where the devices can be used: this node only, the common selector, or None for everywhere."""
    labels: dict[object, LabelSelectorRequirement] = {}
    fields: dict[object, LabelSelectorRequirement] = {}
    for device in devices:
        if device.node_name or device.view.binds_to_node:
            here = LabelSelectorRequirement(key="metadata.name", operator="In", values=(node,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(here,)),))
        for term in device.node_selector.node_selector_terms if device.node_selector else ():
            labels |= {_get_key(r): r for r in term.match_expressions if _get_key(r) not in labels}
            fields |= {_get_key(r): r for r in term.match_fields if _get_key(r) not in fields}
    if not labels and not fields:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(labels.values()), match_fields=tuple(fields.values()))
    return NodeSelector(node_selector_terms=(term,))


def _get_key(requirement: LabelSelectorRequirement) -> object:
    return requirement.key, requirement.operator, frozenset(requirement.values)
