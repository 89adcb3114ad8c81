"""The case table of device allocation: every row holds, and a row about a check fails without that check."""

import dataclasses
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from dra_case_rows import (
    FOLDER,
    find_amount_problems,
    find_expression_problems,
    find_problems,
    find_taint_problems,
    read_rows,
)
from dra_claim_rows import find_claim_problems
from dra_plugin_rows import find_plugin_problems

from apportion.alloc import (
    Features,
    allocator,
    demand,
    lineup,
    plan,
    pool_view,
    result,
    search,
    signature,
    slices,
)
from apportion.alloc.checks import (
    CompatibilityGroups,
    ConsumableCapacity,
    DistinctAttribute,
    MatchAttribute,
    SharedCounters,
)
from apportion.alloc.matching import Matcher
from apportion.alloc.occupancy import Occupancy
from apportion.alloc.pool import Pool, PoolContent
from apportion.alloc.pool_view import PoolView
from apportion.alloc.result import ResultBuilder
from apportion.alloc.search import Search
from apportion.alloc.share_supply import ShareSupply
from apportion.alloc.signature import SignatureIndex
from apportion.api.quantity import parse_quantity

FILES = ("basics.yaml", "features.yaml")
ROWS = [row for file in FILES for row in read_rows(file)]
EXPRESSIONS = read_rows("cel.yaml")
PLUGIN = read_rows("plugin.yaml")
TAINT_RULES = read_rows("taint_rules.yaml")
CLAIM_RULES = read_rows("claim_rules.yaml")
ALL_ROWS = [*ROWS, *EXPRESSIONS, *PLUGIN, *TAINT_RULES, *CLAIM_RULES]
Patch = pytest.MonkeyPatch
ROOT = Path(__file__).parents[2]
INVENTORY = FOLDER / "inventory.yaml"


@pytest.mark.parametrize("row", [pytest.param(r, id=r["name"]) for r in ROWS])
def test_the_row_holds(row: dict[str, Any]) -> None:
    assert find_problems(row) == []


@pytest.mark.parametrize("row", [pytest.param(r, id=r["name"]) for r in EXPRESSIONS])
def test_the_expression_says_so(row: dict[str, Any]) -> None:
    assert (find_amount_problems(row) if row.get("kind") == "amount" else find_expression_problems(row)) == []


@pytest.mark.parametrize("row", [pytest.param(r, id=r["name"]) for r in TAINT_RULES])
def test_the_devices_are_tainted_so(row: dict[str, Any]) -> None:
    assert find_taint_problems(row) == []


@pytest.mark.parametrize("row", [pytest.param(r, id=r["name"]) for r in PLUGIN])
def test_pods_and_claims_end_so(row: dict[str, Any]) -> None:
    assert find_plugin_problems(row) == []


@pytest.mark.parametrize("row", [pytest.param(r, id=r["name"]) for r in CLAIM_RULES])
def test_claims_are_whose_they_are(row: dict[str, Any]) -> None:
    assert find_claim_problems(row) == []


def test_names_are_given_once() -> None:
    names = Counter(r["name"] for r in ALL_ROWS)
    assert [name for name, count in names.items() if count > 1] == []


# ---- switching checks off ---------------------------------------------------------------------------------


def _pass_all(check: type) -> Callable[[Patch], None]:
    def switch_off(patch: Patch) -> None:
        patch.setattr(check, "take", lambda self, pick: True)
        patch.setattr(check, "give_back", lambda self, pick: None)
        patch.setattr(demand, "is_unsatisfiable", lambda *_: False)

    return switch_off


def _wrap(owner: Any, name: str, change: Callable[[Any], Any]) -> Callable[[Patch], None]:
    """Change what a function returns."""
    original = getattr(owner, name)

    def switch_off(patch: Patch) -> None:
        patch.setattr(owner, name, lambda *a, **k: change(original(*a, **k)))

    return switch_off


def _set(*places: tuple[Any, str, Any]) -> Callable[[Patch], None]:
    def switch_off(patch: Patch) -> None:
        for owner, name, value in places:
            patch.setattr(owner, name, value)

    return switch_off


def _without_admin(made: plan.Plan) -> plan.Plan:
    plain = [dataclasses.replace(a, admin_access=False) for a in made.alternatives]
    requests = tuple(
        dataclasses.replace(r, alternatives=tuple(plain[a.id] for a in r.alternatives)) for r in made.requests
    )
    return dataclasses.replace(made, alternatives=tuple(plain), requests=requests)


def _first_alternatives(made: plan.Plan) -> plan.Plan:
    requests = tuple(dataclasses.replace(r, alternatives=r.alternatives[:1]) for r in made.requests)
    return dataclasses.replace(made, requests=requests)


def _asked_amounts(device: Any, requests: Any, _features: Any) -> tuple[Any, ...]:
    return tuple(parse_quantity(requests.get(c.name, c.text)) for c in device.capacity)


def _forget_conditions(patch: Patch) -> None:
    original = PoolView.__init__

    def init(self: PoolView, *args: Any) -> None:
        original(self, *args)
        self.has_binding_conditions = False

    patch.setattr(PoolView, "__init__", init)


def _all_generations(patch: Patch) -> None:
    def build(self: Any) -> PoolContent | None:
        current = self.get_all_slices()
        return PoolContent(current, 0, self._partitionable) if current else None

    patch.setattr(Pool, "_build_content", build)


def _without_capacity(patch: Patch) -> None:
    _pass_all(ConsumableCapacity)(patch)
    patch.setattr(ShareSupply, "spread", lambda self, pool, devices, alternatives: devices * self.layers)


def _unlimited(patch: Patch) -> None:
    original = Search.__init__

    def init(self: Search, *args: Any) -> None:
        original(self, *args[:3])

    patch.setattr(Search, "__init__", init)


CHECKS: dict[str, Callable[[Patch], None]] = {
    "admin": _wrap(allocator, "build_plan", _without_admin),
    "alternatives": _wrap(allocator, "build_plan", _first_alternatives),
    "amounts": _set((lineup, "find_amounts", _asked_amounts), (result, "find_amounts", _asked_amounts)),
    "capacity": _without_capacity,
    "completeness": _set((PoolContent, "find_incompleteness", lambda self, count: None)),
    "conditions-in-result": _wrap(
        ResultBuilder, "_build_device", lambda r: type(r)(request=r.request, device=r.device, pool=r.pool)
    ),
    "config": _set((ResultBuilder, "_merge_config", lambda self, claim, picks: ())),
    "counters": _pass_all(SharedCounters),
    "distinct": _pass_all(DistinctAttribute),
    "effects": _set((signature, "_BLOCKING_EFFECTS", ("NoSchedule", "NoExecute", "None"))),
    "generation": _all_generations,
    "groups": _pass_all(CompatibilityGroups),
    "limit": _set((demand, "RESULTS_MAX", 10**6), (search, "RESULTS_MAX", 10**6)),
    "limit-of-work": _unlimited,
    "match": _pass_all(MatchAttribute),
    "node": _set(
        (slices, "_is_node_selected", lambda *_: True), (Pool, "find_targets", lambda self, node, labels: _all_of(self))
    ),
    "occupancy": _set(
        (Occupancy, "_blocked", lambda self, alternative, pool: 0), (demand, "has_enough", lambda counts, masks: True)
    ),
    "order": _forget_conditions,
    "selector-of-result": _set((result, "_build_node_selector", lambda devices, node: None)),
    "selectors": _set((Matcher, "match", lambda self, signature: True)),
    "sharing": _wrap(SignatureIndex, "_build", lambda s: dataclasses.replace(s, multi=False)),
    "taints": _set((signature, "_BLOCKING_EFFECTS", ())),
    "validity": _wrap(pool_view, "_find_fault", lambda f: None if f is not None and f.state == "invalid" else f),
}


def _all_of(pool: Pool) -> tuple[Any, ...]:
    content = pool.content
    return tuple((s, (1 << len(s.devices)) - 1) for s in content.slices) if content is not None else ()


def test_every_check_has_rows_and_every_row_a_known_check() -> None:
    named = Counter(r["check"] for r in ROWS if r.get("check"))
    assert named.keys() == {*CHECKS, "gates"}
    assert min(named.values()) >= 1 and sum(named.values()) > 120


@pytest.mark.parametrize("check", CHECKS)
def test_without_a_check_its_rows_do_not_hold(check: str, monkeypatch: Patch) -> None:
    CHECKS[check](monkeypatch)
    assert [r["name"] for r in ROWS if r.get("check") == check and not _fails(r)] == []


def test_with_every_gate_on_the_rows_about_gates_do_not_hold() -> None:
    everything = Features(**{f.name: True for f in dataclasses.fields(Features)})
    assert [r["name"] for r in ROWS if r.get("check") == "gates" and not find_problems(r, everything)] == []


def _fails(row: dict[str, Any]) -> bool:
    """Return whether a row is wrong; without a check the allocator may also run into a contradiction."""
    try:
        return bool(find_problems(row))
    except (AssertionError, IndexError, KeyError):
        return True


def test_the_inventory_names_rows_and_tests_that_are_there() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/case_coverage.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    in_inventory = {name for s in yaml.safe_load(INVENTORY.read_text()).values() for name in s["scenarios"]}
    assert {r["name"] for r in ALL_ROWS} <= in_inventory
