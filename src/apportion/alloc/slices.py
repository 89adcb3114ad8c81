"""One published ResourceSlice: checked, compiled, and able to say which of its devices a node can use."""

from collections.abc import Mapping, Sequence

from apportion.alloc.signature import Signature, SignatureIndex, read_nano
from apportion.api.resource import Device, DeviceTaintRule, ResourceSlice
from apportion.api.selectors import NodeMatcher, compile_node_selector
from apportion.api.view import NodeSelector
from apportion.base import ValidationError


class PublishedDevice:
    """A device as it stands in its slice."""

    __slots__ = ("matcher", "signature", "slice", "view")

    def __init__(self, home: "PublishedSlice", view: Device, signature: Signature, field: str) -> None:
        self.slice = home
        self.view = view
        self.signature = signature
        self.matcher = _compile_selector(view.node_selector, f"{field}.nodeSelector")

    @property
    def name(self) -> str:
        return self.view.name

    def is_for(self, node: str, labels: Mapping[str, str]) -> bool:
        """Return whether the device's own node selection (perDeviceNodeSelection) admits the node."""
        return _is_node_selected(self.view.node_name, self.view.all_nodes, self.matcher, node, labels)

    @property
    def node_name(self) -> str | None:
        """The one node that reaches the device, if its publisher named one."""
        return self.view.node_name if self.slice.is_per_device else self.slice.view.spec.node_name

    @property
    def node_selector(self) -> NodeSelector | None:
        return self.view.node_selector if self.slice.is_per_device else self.slice.view.spec.node_selector


class PublishedSlice:
    """A ResourceSlice whose quantities and selectors have been read.

    Raises ValidationError, naming slice and field, when one of them cannot be read.
    """

    __slots__ = ("_matcher", "counter_sets", "devices", "is_per_device", "is_shared", "name", "view")

    def __init__(self, view: ResourceSlice, signatures: SignatureIndex) -> None:
        self.view = view
        self.name = view.metadata.name
        spec = view.spec
        self.is_per_device = bool(spec.per_device_node_selection)
        self.is_shared = not spec.node_name
        try:
            self._matcher = _compile_selector(spec.node_selector, "spec.nodeSelector")
            self.devices = tuple(self._read_device(i, d, signatures) for i, d in enumerate(spec.devices))
            self.counter_sets = _read_counter_sets(view)
        except ValidationError as error:
            raise ValidationError(error.field, f"{error.detail} (ResourceSlice {self.name})") from None

    def _read_device(self, i: int, device: Device, signatures: SignatureIndex) -> PublishedDevice:
        field = f"spec.devices[{i}]"
        spec = self.view.spec
        try:
            signature = signatures.intern(spec.driver, device, skips=bool(spec.skip_node_operations))
        except ValidationError as error:
            raise ValidationError(f"{field}.{error.field}", error.detail) from None
        return PublishedDevice(self, device, signature, field)

    @property
    def needs_partitioning(self) -> bool:
        """Whether the slice means nothing without partitionable devices (even perDeviceNodeSelection: false)."""
        spec = self.view.spec
        return spec.per_device_node_selection is not None or bool(spec.shared_counters)

    @property
    def pool_key(self) -> tuple[str, str]:
        return self.view.spec.driver, self.view.spec.pool.name

    def apply_taints(self, rules: Sequence[DeviceTaintRule], signatures: SignatureIndex) -> bool:
        """Give each device the taints of the rules that select it; return whether any device changed."""
        changed = False
        skips = bool(self.view.spec.skip_node_operations)
        for device in self.devices:
            taints = tuple(r.spec.taint for r in rules if self._is_selected(r, device.name))
            signature = signatures.intern(self.pool_key[0], device.view, taints, skips)
            changed |= signature is not device.signature
            device.signature = signature
        return changed

    def _is_selected(self, rule: DeviceTaintRule, device: str) -> bool:
        selector = rule.spec.device_selector
        # The API says that a rule without selector selects nothing; {} selects all devices.
        return (
            selector is not None
            and selector.driver in (None, self.view.spec.driver)
            and selector.pool in (None, self.view.spec.pool.name)
            and selector.device in (None, device)
        )

    def find_target(self, node: str, labels: Mapping[str, str]) -> int | None:
        """Return the bitmap of devices that ``node`` can use; None when the slice is not for that node."""
        spec = self.view.spec
        if self.is_per_device and not spec.node_name:
            mask = sum(1 << i for i, d in enumerate(self.devices) if d.is_for(node, labels))
            return mask or None
        if _is_node_selected(spec.node_name, spec.all_nodes, self._matcher, node, labels):
            return (1 << len(self.devices)) - 1
        return None


def _is_node_selected(
    node_name: str | None,
    all_nodes: bool | None,
    matcher: NodeMatcher | None,
    node: str,
    labels: Mapping[str, str],
) -> bool:
    if node_name:
        return node_name == node
    if all_nodes:
        return True
    return matcher is not None and matcher.matches(node, labels)


def _compile_selector(selector: NodeSelector | None, field: str) -> NodeMatcher | None:
    if selector is None:
        return None
    if len(selector.node_selector_terms) != 1:
        raise ValidationError(
            field,
            f"has {len(selector.node_selector_terms)} node selector terms; write exactly one",
        )
    return compile_node_selector(selector, field)


def _read_counter_sets(view: ResourceSlice) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    """Counter sets in slice order, counters sorted by name: ((set, ((counter, nano units), ...)), ...)."""
    return tuple(
        (
            s.name,
            tuple(
                (name, read_nano(c.value, f"spec.sharedCounters[{i}].counters[{name}].value"))
                for name, c in sorted(s.counters.items())
            ),
        )
        for i, s in enumerate(view.spec.shared_counters)
    )
