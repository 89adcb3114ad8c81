"""Attributes that a request derives from what the driver publishes, for constraints alone (KEP-6080)."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from apportion.alloc.attributes import Values
from apportion.alloc.features import STORED_EXPRESSIONS
from apportion.alloc.matching import SelectorFailure
from apportion.alloc.signature import Signature
from apportion.api.resource import DerivedAttribute
from apportion.cel import COST_LIMIT, CompileError, Derivation, DerivationFailure, compile_derivation


class DerivedAttributes:
    """The derived attributes of one request; they hide the driver's attributes of the same name.

    All expressions of a request together may cost as much on a device as one selector may.
    """

    def __init__(self, entries: Sequence[DerivedAttribute], with_lists: bool) -> None:
        self._entries = tuple((e, _compile(e.expression, with_lists)) for e in entries)
        self._known: WeakKeyDictionary[Signature, dict[str, Values] | SelectorFailure] = WeakKeyDictionary()

    def derive(self, signature: Signature) -> dict[str, Values] | SelectorFailure:
        """Return the values by name, or what went wrong; worked out once per signature."""
        found = self._known.get(signature)
        if found is None:
            found = self._known[signature] = self._evaluate(signature)
        return found

    def _evaluate(self, signature: Signature) -> dict[str, Values] | SelectorFailure:
        values: dict[str, Values] = {}
        total = 0
        for i, (entry, derivation) in enumerate(self._entries):
            if isinstance(derivation, str):
                return SelectorFailure("derived", "", i, entry.expression, derivation, True)
            found, cost = derivation.evaluate(signature.facts)
            total += cost
            if total > COST_LIMIT:
                found = DerivationFailure("operation cancelled: actual cost limit exceeded")
            if isinstance(found, DerivationFailure):
                return SelectorFailure("derived", "", i, entry.expression, found.message, False)
            values[entry.name] = found
        return values


def _compile(expression: str, with_lists: bool) -> Derivation | str:
    """Return the compiled expression, or why it cannot be compiled."""
    try:
        return compile_derivation(expression, STORED_EXPRESSIONS, with_lists)
    except CompileError as error:
        return error.text
