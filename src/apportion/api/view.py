"""Base of all typed views: read-only, decoded straight from JSON bytes, unknown fields dropped.

A view is what the scheduler reads of an object. It is never written back: it has lost what it does not know.
"""

from typing import TypeAlias, dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))  # tells type checkers of frozen
class View(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A frozen struct whose JSON names are the camel-case forms of its field names."""


# A quantity as it stands in JSON: text or a bare number. ``api.quantity`` gives it meaning.
QuantityText: TypeAlias = str | int | float
# Resource name -> quantity (``requests``, ``allocatable``).
ResourceList: TypeAlias = dict[str, QuantityText]


class OwnerReference(View):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """``namespace/name``, or the bare name of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def controller(self) -> OwnerReference | None:
        """The owner reference with ``controller: true``, if there is one."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class LabelSelectorRequirement(View):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(View):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelectorTerm(View):
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    match_fields: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelector(View):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class Condition(View):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str | None = None
