"""What an expression did over many devices."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from apportion.cel.device import DeviceFacts
from apportion.cel.lookups import Lookup
from apportion.cel.selector import Selector


@dataclass(frozen=True, slots=True)
class Presence:
    """On how many of the devices a name that the expression looks up exists."""

    lookup: Lookup
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Summary:
    """``rejected_by`` and ``failed_in`` pair the source of a clause with the number of devices it decided."""

    total: int
    matched: int
    failed: int
    presences: tuple[Presence, ...]
    rejected_by: tuple[tuple[str, int], ...]
    failed_in: tuple[tuple[str, int], ...]

    def list_lines(self) -> list[str]:
        """Return the summary as sentences, most important first."""
        lines = [f"{self.matched} of {self.total} devices match, {self.failed} with an error"]
        lines += [f"{p.lookup.kind} {p.label} exists on {p.count} of {self.total} devices" for p in self.presences]
        lines += [f"{text} is false on {count} of {self.total} devices" for text, count in self.rejected_by]
        lines += [f"{text} fails on {count} of {self.total} devices" for text, count in self.failed_in]
        return lines


def summarize(selector: Selector, facts_list: Iterable[DeviceFacts]) -> Summary:
    """Evaluate over all devices and return what matched, what exists, and which clauses decided against.

    Names in the domain of the driver are shown bare when all devices have the same driver.
    """
    facts = list(facts_list)
    traces = [selector.trace(f) for f in facts]
    present: Counter[Lookup] = Counter()
    rejected: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for trace in traces:
        present.update({lookup: int(exists) for lookup, exists in trace.lookups})
        if trace.verdict.match is False:
            rejected.update(c.text for c in trace.deciding if c.value is False)
        failed.update(c.text for c in trace.deciding if c.error is not None)
    drivers = {f.driver for f in facts}
    return Summary(
        total=len(facts),
        matched=sum(t.verdict.match is True for t in traces),
        failed=sum(t.verdict.match is None for t in traces),
        presences=tuple(Presence(k, _label(k, drivers), n) for k, n in present.items()),
        rejected_by=tuple(rejected.most_common()),
        failed_in=tuple(failed.most_common()),
    )


def _label(lookup: Lookup, drivers: set[str]) -> str:
    return lookup.name if drivers == {lookup.domain} else f"{lookup.domain}/{lookup.name}"
