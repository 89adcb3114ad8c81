"""Templates of workload files: the part of Go's text/template that they use."""

from typing import Any

import orjson
import pytest

from apportion.base import InputError
from apportion.bench.moulds import Mould
from apportion.bench.templates import Template


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("pod-{{.Index}}", "pod-7"),
        ("{{ .Index }}", "7"),
        ("{{DivideInt .Index 2}} {{Mod .Index 4}} {{AddInt .Index 1}} {{MultiplyInt .Index 3}}", "3 3 8 21"),
        ("{{AddInt 100 (Mod .Index (DivideInt .pods .nodes))}}", "101"),
        ("{{or .missing 10}} {{or .pods 10}}", "10 6"),
        ("{{$n := (or .missing 3) | Int}}{{range $i := $n}}<{{$i}}>{{end}}", "<0><1><2>"),
        ("{{range (2 | Int)}}{{.}},{{end}}", "0,1,"),
        ("{{range .list}}{{.}};{{end}}{{range .missing}}x{{else}}none{{end}}", "a;b;none"),
        ('{{if eq .mode "all"}}A{{else if .pods}}B{{else}}C{{end}}', "B"),
        ("{{if ge .Index 7}}yes{{end}}{{if .empty}}no{{end}}", "yes"),
        ("{{.list | JSON}} {{(or .missing nil) | JSON}} {{.missing}} {{.yes}}", '["a","b"] null <no value> true'),
        ("a {{- /* a remark */ -}} b", "a b"),
        ("x\n  {{- if .yes}}\n  y\n  {{- end}}\nz", "x\n  y\nz"),
        ("{{range 2}}{{$.Index}}{{end}}", "77"),
    ],
)
def test_values(source: str, text: str) -> None:
    values: dict[str, Any] = {
        "Index": 7, "pods": 6, "nodes": 3, "mode": "single", "list": ["a", "b"], "empty": "", "yes": True,
    }  # fmt: skip
    assert Template(source).render(values) == text.replace("a b", "ab")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("{{with .a}}{{end}}", "the action 'with' is not understood"),
        ("{{printf .a}}", "the function 'printf' is not known"),
        ("{{if .a}}", "has no end"),
        ("{{end}}", "without a beginning"),
        ("{{Mod .Index 0}}", "divided by 0"),
        ("{{$x}}", "the variable $x is not set"),
        ("{{Int .a}}", "is not a whole number"),
    ],
)
def test_what_is_not_understood_is_named(source: str, problem: str) -> None:
    with pytest.raises(InputError, match=r"pod\.yaml") as caught:
        Template(source, "pod.yaml").render({"Index": 1, "a": "x"})
    assert problem in str(caught.value)


_POD = """
apiVersion: v1
kind: Pod
metadata: {name: "pod-{{.Index}}", labels: {third: "{{Mod .Index 3}}"}}
spec: {priority: {{AddInt .Index .base}}, containers: [], nothing: null, when: 2026-01-01}
"""


def test_a_mould_casts_what_the_template_renders() -> None:
    mould = Mould(Template(_POD), {"base": 5}, 10)
    cast = [orjson.loads(mould.cast(i)) for i in (0, 7)]
    assert cast[1]["metadata"] == {"name": "pod-7", "labels": {"third": "1"}}
    assert cast[1]["spec"] == {"priority": 12, "containers": [], "when": "2026-01-01"}
    assert cast[0]["spec"]["priority"] == 5
    assert not mould.is_constant


def test_a_template_whose_index_decides_is_rendered_each_time() -> None:
    source = "{apiVersion: v1, kind: Pod, metadata: {name: {{if eq .Index 1}}one{{else}}other{{end}}}}"
    mould = Mould(Template(source), {}, 2)
    names = [orjson.loads(mould.cast(i))["metadata"]["name"] for i in range(3)]
    assert names == ["other", "one", "other"]


def test_a_template_without_an_index_is_constant() -> None:
    assert Mould(Template("{apiVersion: v1, kind: Pod, metadata: {}}"), {}, 2).is_constant
