"""A pool as a plan sees it: devices reduced to what matters for the plan's requests.

Devices that differ only in what no request looks at (a serial number, say) become the same *kind*, and pools
with the same kinds in the same order the same *lineup*. Nodes whose pools have equal lineups and equal use
share one answer.
"""

from typing import Final, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from apportion.alloc.attributes import TypedValue, Values, find_values
from apportion.alloc.capacity import find_amounts
from apportion.alloc.features import Features
from apportion.alloc.matching import SelectorFailure
from apportion.alloc.plan import Alternative, Plan
from apportion.alloc.pool_view import PoolState, Shape, Share
from apportion.alloc.signature import Consumption, Signature
from apportion.api.selectors import tolerates

NO: Final = 0  # does not match, or could never give the requested capacity
FITS: Final = 1
REFUSED: Final = 2  # matches, but must not be taken: a taint, or a feature that is off

# Emptied when full: what is lost is sharing, not correctness.
KINDS_MAX: Final = 65536
LINEUPS_MAX: Final = 16384

Fit: TypeAlias = int | SelectorFailure
Amounts: TypeAlias = tuple[int, ...]


class Kind(NamedTuple):
    """A device as the plan sees it; equal kinds in equal use are interchangeable."""

    fits: tuple[Fit, ...]  # by alternative
    amounts_nano: tuple[Amounts, ...]  # by alternative: what it takes of each capacity; () when exclusive
    values: tuple[Values | None, ...]  # by constraint
    derived: tuple[tuple[tuple[int, Values], ...], ...]  # by alternative: (constraint, derived values); () without any
    capacity_nano: Amounts  # () when exclusive
    consumes: tuple[Consumption, ...]
    groups: tuple[tuple[str, frozenset[str]], ...]
    multi: bool

    def find_values(self, alternative: int, constraint: int) -> Values | None:
        """Return what a constraint compares if the device is picked for an alternative."""
        if self.derived:
            for derived_for, values in self.derived[alternative]:
                if derived_for == constraint:
                    return values
        return self.values[constraint]


class Lineup:
    """Interned by its lookup; compared by identity."""

    __slots__ = (
        "_by_value",
        "consumes",
        "failing",
        "fault_state",
        "fits",
        "kind_ids",
        "kinds",
        "multi",
        "refused",
        "relevant",
    )

    def __init__(
        self, kinds: tuple[Kind, ...], kind_ids: tuple[int, ...], shape: Shape, alternative_count: int
    ) -> None:
        self._by_value: dict[tuple[int, int], dict[TypedValue, int]] = {}
        self.kinds = kinds
        self.kind_ids = kind_ids
        self.fault_state = shape.fault_state
        self.multi = shape.multi
        alternatives = range(alternative_count)
        # Bitmaps of positions, by alternative.
        self.fits = [_collect(kinds, a, FITS) for a in alternatives]
        self.refused = [_collect(kinds, a, REFUSED) for a in alternatives]
        self.failing = [_collect(kinds, a, None) for a in alternatives]
        self.relevant = 0
        for masks in (self.fits, self.refused, self.failing):
            for mask in masks:
                self.relevant |= mask
        order = {key: i for i, key in enumerate(shape.counters)}
        # What each device draws, as (position of the counter, nano units).
        self.consumes = tuple(
            tuple((order[(c.counter_set, c.counter)], c.amount_nano) for c in k.consumes) if order else ()
            for k in kinds
        )

    def get_masks_by_value(self, alternative: int, constraint: int) -> dict[TypedValue, int]:
        """Return for each value that a constraint may see the bitmap of devices that fit and have it.

        The order is that of the devices, and among the values of one device ascending: no hash may decide it.
        """
        found = self._by_value.get((alternative, constraint))
        if found is None:
            found = self._by_value[alternative, constraint] = {}
            for i, kind in enumerate(self.kinds):
                if kind.fits[alternative] == FITS:
                    for value in sorted(kind.find_values(alternative, constraint) or ()):
                        found[value] = found.get(value, 0) | 1 << i
        return found


def _collect(kinds: tuple[Kind, ...], alternative: int, wanted: int | None) -> int:
    """Bitmap of the positions with this fit; None stands for a failed selector."""
    mask = 0
    for i, kind in enumerate(kinds):
        fit = kind.fits[alternative]
        if fit == wanted if wanted is not None else isinstance(fit, SelectorFailure):
            mask |= 1 << i
    return mask


class PoolInput(NamedTuple):
    """One pool of a node as the search reads it; equal inputs in equal order get equal answers."""

    lineup: Lineup
    taken: int  # bitmap of positions
    remaining_nano: tuple[int, ...]  # by counter
    groups: tuple[tuple[str, frozenset[str]], ...]
    shares: tuple[Share, ...]


class LineupIndex:
    """The lineups of one plan; each signature is classified once."""

    def __init__(self, plan: Plan, features: Features) -> None:
        self._plan = plan
        self._features = features
        self._kinds: dict[Kind, int] = {}
        self.has_failures = False  # whether a selector has failed on any device so far
        self._kind_count = 0  # ids are never used twice, also not after the tables were emptied
        self._kind_of: WeakKeyDictionary[Signature, tuple[Kind, int]] = WeakKeyDictionary()
        self._lineups: dict[tuple[object, ...], Lineup] = {}
        self._lineup_of: WeakKeyDictionary[Shape, Lineup] = WeakKeyDictionary()

    def get_lineup(self, shape: Shape) -> Lineup:
        """Return the lineup of a shape; a dict lookup when the shape was met before."""
        found = self._lineup_of.get(shape)
        if found is None:
            found = self._lineup_of[shape] = self._build(shape)
        return found

    def get_input(self, state: PoolState) -> PoolInput:
        """Reduce the state of a pool to what the plan can notice."""
        lineup = self.get_lineup(state.shape)
        if not lineup.relevant:
            return PoolInput(lineup, 0, (), (), ())
        taken = state.taken & lineup.relevant
        return PoolInput(lineup, taken, state.remaining_nano, state.groups, state.shares)

    def _build(self, shape: Shape) -> Lineup:
        pairs = [self._classify(s) for s in shape.signatures]
        kinds, ids = tuple(k for k, _ in pairs), tuple(i for _, i in pairs)
        key = (ids, shape.counters, shape.fault_state, shape.multi)
        found = self._lineups.get(key)
        if found is None:
            if len(self._lineups) >= LINEUPS_MAX:
                self._lineups.clear()
            found = self._lineups[key] = Lineup(kinds, ids, shape, len(self._plan.alternatives))
        return found

    def _classify(self, signature: Signature) -> tuple[Kind, int]:
        found = self._kind_of.get(signature)
        if found is None:
            found = self._kind_of[signature] = self._intern_kind(self._build_kind(signature))
        return found

    def _intern_kind(self, kind: Kind) -> tuple[Kind, int]:
        found = self._kinds.get(kind)
        if found is None:
            if len(self._kinds) >= KINDS_MAX:
                self._kinds.clear()
            found = self._kinds[kind] = self._kind_count
            self._kind_count += 1
        return kind, found

    def _build_kind(self, signature: Signature) -> Kind:
        plan = self._plan
        pairs = [self._judge(a, signature) for a in plan.alternatives]
        fits: tuple[Fit, ...] = tuple(fit for fit, _ in pairs)
        derived: tuple[tuple[tuple[int, Values], ...], ...] = ()
        if any(a.derived for a in plan.alternatives):
            fits, derived = self._derive(signature, fits)
        self.has_failures |= any(isinstance(fit, SelectorFailure) for fit in fits)
        if not any(fits):
            return Kind(fits, (), (), (), (), (), (), signature.multi)
        with_lists = self._features.list_type_attributes
        return Kind(
            fits=fits,
            amounts_nano=tuple(amounts for _, amounts in pairs),
            values=tuple(find_values(signature, c.attribute, with_lists) for c in plan.constraints),
            derived=derived,
            capacity_nano=tuple(c.value_nano for c in signature.capacity) if signature.multi else (),
            consumes=signature.consumes,
            groups=signature.groups,
            multi=signature.multi,
        )

    def _derive(
        self, signature: Signature, fits: tuple[Fit, ...]
    ) -> tuple[tuple[Fit, ...], tuple[tuple[tuple[int, Values], ...], ...]]:
        """Add derived attributes where a device matches; one that cannot be derived fails like a selector."""
        new_fits: list[Fit] = []
        derived: list[tuple[tuple[int, Values], ...]] = []
        for alternative, fit in zip(self._plan.alternatives, fits, strict=True):
            found = alternative.derived.derive(signature) if alternative.derived and fit in (FITS, REFUSED) else {}
            new_fits.append(found if isinstance(found, SelectorFailure) else fit)
            values = {} if isinstance(found, SelectorFailure) else found
            attributes = ((c, self._plan.constraints[c].attribute) for c in alternative.constraints)
            derived.append(tuple((c, values[name]) for c, name in attributes if name in values))
        return tuple(new_fits), tuple(derived)

    def _judge(self, alternative: Alternative, signature: Signature) -> tuple[Fit, Amounts]:
        features = self._features
        if signature.has_binding_conditions and not features.binding_conditions:
            return NO, ()
        match = alternative.matcher.match(signature)
        if match is not True:
            return match or NO, ()
        amounts: Amounts = ()
        if signature.multi or alternative.capacity:
            found = find_amounts(signature, alternative.capacity, features)
            if found is None:
                return NO, ()
            amounts = tuple(q.nano for q in found) if signature.multi else ()
        return (REFUSED if self._is_refused(alternative, signature) else FITS), amounts

    def _is_refused(self, alternative: Alternative, signature: Signature) -> bool:
        features = self._features
        if signature.consumes and not features.partitionable_devices:
            return True
        if not features.compatibility_groups and any(groups for _, groups in signature.groups):
            return True
        if signature.skips_node_operations and not features.optional_node_operations:
            return True
        return any(
            not any(tolerates(toleration, taint) for toleration in alternative.tolerations)
            for taint in signature.blocking_taints
        )
