"""Plays transcripts of allocator searches: lines that start with ``>`` are commands, the rest is the answer.

::

    > slice n1 d0 numa=0 model=a | d1 numa=1        devices of a node's pool, separated by |
    > hold d1                                       somebody holds the device
    > claim c r any 2 ; s first All any | 1 any ; match numa
    > search c                                      every step, then the outcome
    > explain c                                     the sentence for the user
"""

from typing import Any

from apportion.alloc.checks import Pick
from apportion.alloc.lineup import PoolInput
from apportion.alloc.plan import Plan
from apportion.alloc.search import Outcome, Search
from unit.alloc.alloc_worlds import (
    Tree,
    World,
    ask,
    claim_tree,
    counter_set,
    device,
    draws,
    first_of,
    request,
    slice_tree,
)


class _LoudSearch(Search):
    """Tells what it tries."""

    def __init__(self, plan: Plan, pools: list[PoolInput], world: World, names: list[list[str]]) -> None:
        super().__init__(plan, pools, world.table.features)
        self._names = names
        self.lines: list[str] = []

    def _say(self, pick: Pick, what: str) -> None:
        indent = "  " * len(self._picks)
        self.lines.append(f"{indent}{pick.alternative.name} {self._names[pick.pool][pick.device]}: {what}")

    def _take(self, pick: Pick) -> bool:
        at = len(self.lines)
        self._say(pick, "refused")
        taken = super()._take(pick)
        if taken:
            self.lines[at] = self.lines[at].replace("refused", "picked")
        return taken

    def _give_back(self, pick: Pick) -> None:
        super()._give_back(pick)
        self._say(pick, "given back")


class Story:
    """One world, changed and asked by commands."""

    def __init__(self) -> None:
        self._world = World()
        self._claims: dict[str, Tree] = {}
        self._holds = 0

    def play(self, transcript: str) -> str:
        """Return the transcript with the answers that the commands get now."""
        out: list[str] = []
        for line in transcript.splitlines():
            if line.startswith("> "):
                name, _, rest = line[2:].partition(" ")
                out += [line, *getattr(self, f"_do_{name}")(rest)]
            elif not line or line.startswith("#"):
                out.append(line)
        return "\n".join(out) + "\n"

    def _do_slice(self, rest: str) -> list[str]:
        node, _, devices = rest.partition(" ")
        has_counters = "draws=" in devices
        trees = [_read_device(d.split()) for d in devices.split("|")]
        self._world.publish(slice_tree(*trees, node=node, count=2 if has_counters else 1))
        return []

    def _do_counters(self, rest: str) -> list[str]:
        node, amount = rest.split()
        sets = [counter_set(mem=amount)]
        self._world.publish(slice_tree(node=node, name="counters", count=2, sharedCounters=sets))
        return []

    def _do_hold(self, rest: str) -> list[str]:
        self._holds += 1
        self._world.hold(f"holder-{self._holds}", *rest.split())
        return []

    def _do_claim(self, rest: str) -> list[str]:
        head, *parts = [p.strip() for p in rest.split(";")]
        name, _, first = head.partition(" ")
        requests: list[Tree] = []
        constraints: dict[str, list[str]] = {"match": [], "distinct": []}
        for part in (first, *parts):
            word, _, what = part.partition(" ")
            if word in constraints:
                constraints[word].append(what)
            elif what.startswith("first "):
                alternatives = (_read_asked(a) for a in what.removeprefix("first ").split("|"))
                requests.append(first_of(word, *alternatives))
            else:
                requests.append(request(word, _read_asked(what)))
        self._claims[name] = claim_tree(name, *requests, **constraints)
        return []

    def _do_search(self, rest: str) -> list[str]:
        problem = self._world.prepare(*(self._claims[c] for c in rest.split()))
        views = self._world.table.get_pools_at("n1")
        pools = [problem.prepared.lineups.get_input(v.state) for v in views]
        names = [[d.name for d in v.devices] for v in views]
        search = _LoudSearch(problem.prepared.plan, pools, self._world, names)
        outcome = search.run()
        return [*search.lines, self._describe(outcome, problem.claims)]

    def _describe(self, outcome: Outcome, claims: tuple[str, ...]) -> str:
        if outcome.picks is not None:
            return f"fits, score {outcome.score}"
        if outcome.rejection is None:
            return "does not fit"
        return outcome.rejection.describe(claims, self._world.table.get_pools_at("n1"))

    def _do_explain(self, rest: str) -> list[str]:
        return [self._world.explain(*(self._claims[c] for c in rest.split())).detail]


def _read_device(words: list[str]) -> Tree:
    attributes: dict[str, Any] = {}
    more: Tree = {}
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key == "draws":
            more["consumesCounters"] = draws(mem=value)
        elif key == "taint":
            more["taints"] = [{"key": value, "effect": "NoSchedule"}]
        else:
            attributes[key] = int(value) if value.isdigit() else value
    return device(words[0], attributes=attributes, **more)


def _read_asked(text: str) -> Tree:
    device_class, count = text.split()
    return ask(device_class, count if count == "All" else int(count))
