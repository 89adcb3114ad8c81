"""Selectors found by label, against all of them asked one by one."""

import random

from apportion.api.selectors import LabelMatcher, compile_label_selector
from apportion.api.view import LabelSelector, LabelSelectorRequirement
from apportion.sched.state.selector_index import SelectorIndex

LABELS, VALUES = "abc", ["1", "2", "name-3"]


def make_selector(r: random.Random) -> LabelMatcher:
    if r.random() < 0.1:
        return compile_label_selector(r.choice([None, LabelSelector()]))
    pairs = {label: r.choice(VALUES) for label in LABELS if r.random() < 0.4}
    wanted = []
    for label in LABELS:
        operator = r.choice(["", "", "In", "NotIn", "Exists", "DoesNotExist"])
        values = tuple(r.sample(VALUES, r.randint(1, 3))) if operator in ("In", "NotIn") else ()
        if operator:
            wanted.append(LabelSelectorRequirement(key=label, operator=operator, values=values))
    return compile_label_selector(LabelSelector(match_labels=pairs, match_expressions=tuple(wanted)))


def test_it_finds_all_that_select_and_leaves_others_out() -> None:
    r = random.Random(1)
    index: SelectorIndex[int] = SelectorIndex()
    matchers = [[make_selector(r) for _ in range(r.randint(0, 2))] for _ in range(300)]
    for number, of_one in enumerate(matchers):
        index.add(of_one, number)
    spared = 0
    for _ in range(200):
        labels = {label: r.choice(VALUES) for label in LABELS if r.random() < 0.7}
        found = index.find(labels)
        assert found == sorted(set(found))
        selecting = [i for i, of_one in enumerate(matchers) if all(m.matches(labels) for m in of_one)]
        assert set(selecting) <= set(found)
        spared += len(matchers) - len(found)
    assert spared > 10_000


def test_a_selector_with_many_values_is_asked_about_everything() -> None:
    index: SelectorIndex[str] = SelectorIndex()
    many = LabelSelectorRequirement(key="a", operator="In", values=tuple(f"v{i}" for i in range(40)))
    index.add([compile_label_selector(LabelSelector(match_expressions=(many,)))], "many")
    assert index.find({"a": "v39"}) == index.find({}) == ["many"]
