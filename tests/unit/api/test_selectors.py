import pytest

from apportion.api.core import Taint, Toleration
from apportion.api.selectors import (
    compile_label_selector,
    compile_node_selector,
    compile_node_selector_term,
    tolerates,
)
from apportion.api.view import LabelSelector, LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from apportion.base import ValidationError


def req(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=values)


def labels_of(*requirements: LabelSelectorRequirement) -> LabelSelector:
    return LabelSelector(match_expressions=requirements)


def term(*requirements: LabelSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=requirements)


def test_absent_selector_matches_nothing_and_empty_one_everything() -> None:
    assert not compile_label_selector(None).matches({"a": "b"})
    assert compile_label_selector(LabelSelector()).matches({})
    assert compile_label_selector(None).key is None
    assert compile_label_selector(LabelSelector()).key == ()


@pytest.mark.parametrize(
    ("requirement", "labels", "expected"),
    [
        (req("a", "In", "x", "y"), {"a": "y"}, True),
        (req("a", "In", "x"), {}, False),
        (req("a", "In", ""), {"a": ""}, True),
        (req("a", "NotIn", "x"), {"a": "x"}, False),
        (req("a", "NotIn", "x"), {}, True),
        (req("a", "Exists"), {"a": ""}, True),
        (req("a", "Exists"), {"b": ""}, False),
        (req("a", "DoesNotExist"), {"a": ""}, False),
        (req("a", "DoesNotExist"), {}, True),
    ],
)
def test_label_operators(requirement: LabelSelectorRequirement, labels: dict[str, str], expected: bool) -> None:
    assert compile_label_selector(labels_of(requirement)).matches(labels) is expected


def test_selectors_that_mean_the_same_are_one_matcher() -> None:
    by_labels = compile_label_selector(LabelSelector(match_labels={"a": "x", "b": "y"}))
    by_expressions = compile_label_selector(labels_of(req("b", "In", "y"), req("a", "In", "x", "x")))
    assert by_labels is by_expressions
    assert hash(by_labels.key) == hash(by_expressions.key)


def test_describe_reads_like_kubectl() -> None:
    selector = LabelSelector(
        match_labels={"app": "web"},
        match_expressions=(req("tier", "In", "b", "a"), req("old", "DoesNotExist"), req("z", "NotIn", "1")),
    )
    assert compile_label_selector(selector).describe() == "app=web,!old,tier in (a,b),z notin (1)"
    assert compile_label_selector(None).describe() == "<nothing>"
    assert compile_label_selector(LabelSelector()).describe() == "<everything>"


@pytest.mark.parametrize(
    ("requirement", "field"),
    [
        (req("a", "Equals", "x"), "sel.matchExpressions[0].operator"),
        (req("a", "Gt", "1"), "sel.matchExpressions[0].operator"),
        (req("a", "In"), "sel.matchExpressions[0].values"),
        (req("a", "Exists", "x"), "sel.matchExpressions[0].values"),
    ],
)
def test_invalid_label_requirement_names_its_field(requirement: LabelSelectorRequirement, field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        compile_label_selector(labels_of(requirement), "sel")
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("operator", "bound", "value", "expected"),
    [
        ("Gt", "4", "5", True),
        ("Gt", "5", "5", False),
        ("Lt", "5", "-7", True),
        ("Lt", "5", "abc", False),
        ("Lt", "abc", "1", False),
        ("Gt", "4", None, False),
        ("Gt", "4", "99999999999999999999", False),
    ],
)
def test_comparison_on_node_labels(operator: str, bound: str, value: str | None, expected: bool) -> None:
    matcher = compile_node_selector_term(term(req("n", operator, bound)))
    assert matcher.matches("node", {} if value is None else {"n": value}) is expected


def test_terms_are_alternatives_and_requirements_all_hold() -> None:
    # k/k#44349: term1 foo > 4, term2 bar > 8
    selector = NodeSelector(
        node_selector_terms=(term(req("foo", "Gt", "4")), term(req("bar", "Gt", "8"), req("foo", "Exists")))
    )
    matcher = compile_node_selector(selector)
    assert matcher.matches("n", {"foo": "5", "bar": "6"})
    assert not matcher.matches("n", {"foo": "3", "bar": "8"})
    assert matcher.label_keys == ("bar", "foo")


def test_empty_term_and_empty_selector_match_no_node() -> None:
    assert not compile_node_selector(NodeSelector(node_selector_terms=(NodeSelectorTerm(),))).matches("n", {})
    assert not compile_node_selector(NodeSelector()).matches("n", {})


def test_match_fields_look_at_the_name() -> None:
    named = NodeSelectorTerm(match_fields=(req("metadata.name", "In", "n1"),))
    assert compile_node_selector_term(named).matches("n1", {})
    assert not compile_node_selector_term(named).matches("n2", {"metadata.name": "n1"})
    with pytest.raises(ValidationError, match=r"t\.matchFields\[0\]\.key"):
        compile_node_selector_term(NodeSelectorTerm(match_fields=(req("spec.x", "In", "a"),)), "t")


def test_order_of_terms_does_not_change_the_key() -> None:
    a, b = term(req("a", "Exists")), term(req("b", "Exists"))
    one = compile_node_selector(NodeSelector(node_selector_terms=(a, b)))
    other = compile_node_selector(NodeSelector(node_selector_terms=(b, a)))
    assert one.key == other.key


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration(key="k", value="5"), True),
        (Toleration(key="k", operator="Equal", value="6"), False),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(key="k", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="k", operator="Gt", value="4"), False),
    ],
)
def test_toleration_of_a_taint(toleration: Toleration, expected: bool) -> None:
    assert tolerates(toleration, Taint(key="k", value="5", effect="NoSchedule")) is expected


def test_comparison_tolerations_need_the_gate() -> None:
    taint = Taint(key="k", value="5", effect="NoSchedule")
    above = Toleration(key="k", operator="Gt", value="4")
    below = Toleration(key="k", operator="Lt", value="4")
    assert tolerates(above, taint, comparison_operators=True)
    assert not tolerates(below, taint, comparison_operators=True)
    assert not tolerates(above, Taint(key="k", value="five", effect="NoSchedule"), comparison_operators=True)
