"""Does a device match a request: evaluated once per signature, kept apart from whether it is free."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary

from apportion.alloc.features import STORED_EXPRESSIONS
from apportion.alloc.signature import Signature
from apportion.api.resource import DeviceClass, DeviceSelector
from apportion.cel import CompileError, Selector, compile_selector


class SelectorFailure(NamedTuple):
    """A selector that could not be answered for a device, which is not the same as no."""

    origin: str  # "class", "claim", or "derived" for a derived attribute of the claim
    class_name: str
    position: int  # in the list of selectors
    expression: str
    text: str
    is_compile_error: bool

    def describe(self, claim: str, device: str) -> str:
        """Return the text that Kubernetes reports for it."""
        what = "derived attribute" if self.origin == "derived" else "selector"
        owner = f"class {self.class_name}" if self.origin == "class" else f"claim {claim}"
        if self.is_compile_error:
            return f"{owner}: {what} #{self.position}: CEL compile error: {self.text}"
        return f"{owner}: {what} #{self.position} on device {device}: CEL runtime error: {self.text}"


Match: TypeAlias = bool | SelectorFailure


class _Clause(NamedTuple):
    origin: str
    position: int
    expression: str
    selector: Selector | None
    compile_error: str


class Matcher:
    """The selectors of a class, then those of a request; all must hold, the first that does not decides."""

    def __init__(
        self, class_name: str, of_class: Sequence[DeviceSelector], of_request: Sequence[DeviceSelector]
    ) -> None:
        self._class_name = class_name
        self._clauses = [_compile("class", i, s) for i, s in enumerate(of_class)]
        self._clauses += [_compile("claim", i, s) for i, s in enumerate(of_request)]
        self._matches: WeakKeyDictionary[Signature, Match] = WeakKeyDictionary()

    def match(self, signature: Signature) -> Match:
        """Return whether devices of this signature match, or why that cannot be told; cached."""
        known = self._matches.get(signature)
        if known is None:
            known = self._matches[signature] = self._evaluate(signature)
        return known

    def _evaluate(self, signature: Signature) -> Match:
        for clause in self._clauses:
            if clause.selector is None:
                return self._fail(clause, clause.compile_error)
            verdict = clause.selector.evaluate(signature.facts)
            if verdict.error is not None:
                return self._fail(clause, verdict.error)
            if not verdict.match:
                return False
        return True

    def _fail(self, clause: _Clause, text: str) -> SelectorFailure:
        return SelectorFailure(
            clause.origin, self._class_name, clause.position, clause.expression, text, clause.selector is None
        )


class MatcherIndex:
    """Shares matchers between all plans that use them."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[object, ...], Matcher] = WeakValueDictionary()

    def intern(self, device_class: DeviceClass, selectors: tuple[DeviceSelector, ...]) -> Matcher:
        """Return the matcher for a class as it is now and a request's own selectors."""
        name, of_class = device_class.metadata.name, device_class.spec.selectors
        key = (name, _list_expressions(of_class), _list_expressions(selectors))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Matcher(name, of_class, selectors)
        return found


def _list_expressions(selectors: Sequence[DeviceSelector]) -> tuple[str, ...]:
    return tuple(s.cel.expression if s.cel is not None else "" for s in selectors)


def _compile(origin: str, index: int, selector: DeviceSelector) -> _Clause:
    expression = selector.cel.expression if selector.cel is not None else ""
    try:
        return _Clause(origin, index, expression, compile_selector(expression, STORED_EXPRESSIONS), "")
    except CompileError as error:
        return _Clause(origin, index, expression, None, error.text)
