from typing import Any

import pytest

from apportion.sim import documents
from apportion.sim.documents import read_documents


def contents(text: str) -> list[Any]:
    return [d.content if not d.reason else d.reason for d in read_documents(text.encode())]


def test_yaml_documents_are_numbered_and_empty_ones_left_out() -> None:
    text = "# comment\n---\na: 1\n---\n---\n# nothing\n---\nb: 2\n"
    assert [(d.index, d.content) for d in read_documents(text.encode())] == [(0, {"a": 1}), (3, {"b": 2})]


def test_document_that_is_wrong_does_not_end_the_others() -> None:
    first, broken, last = contents("a: 1\n---\nb: [1\n---\nc: 3\n")
    assert (first, last) == ({"a": 1}, {"c": 3})
    assert "not valid YAML" in broken
    assert "(line 4, column 1)" in broken


def test_scalars_are_those_of_json() -> None:
    text = "time: 2024-01-01T00:00:00Z\nsexagesimal: 22:22\ninf: .inf\nexp: 1e3\nint: 010\nflag: true\nnone: ~\nf: 0.5"
    assert contents(text) == [
        {
            "time": "2024-01-01T00:00:00Z",
            "sexagesimal": "22:22",
            "inf": ".inf",
            "exp": "1e3",
            "int": 8,
            "flag": True,
            "none": None,
            "f": 0.5,
        }
    ]


def test_merge_keys_and_aliases_work() -> None:
    assert contents("base: &b {x: 1}\nuse: {<<: *b, y: 2}\nsame: *b") == [
        {"base": {"x": 1}, "use": {"x": 1, "y": 2}, "same": {"x": 1}}
    ]


@pytest.mark.parametrize("text", ["a: 1\nb:\n  c: 1\n  c: 2\n", '{"a": 1, "b": {"c": 1, "c": 2}}'])
def test_key_that_stands_twice_is_refused(text: str) -> None:
    (reason,) = contents(text)
    assert "the key 'c' stands twice" in reason


def test_json_alone_and_one_after_the_other() -> None:
    assert contents(' {"a": [1, 2.5, null]}') == [{"a": [1, 2.5, None]}]
    assert contents('{"a": 1}\n{"b": 2}') == [{"a": 1}, {"b": 2}]
    assert contents('{"a": NaN}') == ["NaN is not a JSON value"]


def test_flow_yaml_that_looks_like_json_is_read() -> None:
    assert contents("{a: 1, b: [x]}") == [{"a": 1, "b": ["x"]}]


def test_byte_order_mark_and_bad_encoding() -> None:
    assert [d.content for d in read_documents(b"\xef\xbb\xbfa: 1")] == [{"a": 1}]
    assert [d.reason for d in read_documents(b"a: \xff")] == ["not UTF-8 text (byte 3)"]


@pytest.mark.parametrize("text", ["metadata: {name: {{ .Values.name }}}", "{{- if .x }}\na: 1\n{{- end }}"])
def test_templates_are_told_from_manifests(text: str) -> None:
    (reason,) = contents(text)
    assert "render it first" in reason


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 5000 + "]" * 5000,
        "\n".join(" " * i + "a:" for i in range(2000)),
        "- " * 3000 + "x",
        '{"a":' * 200 + "1" + "}" * 200,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
    ],
)
def test_depth_is_bounded(text: str) -> None:
    (reason,) = contents(text)
    assert "nested deeper than" in reason


def test_aliases_count_as_often_as_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "NODES_MAX", 10_000)
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    (reason,) = contents("\n".join(lines))
    assert "aliases counted as often as used" in reason


def test_alias_to_itself_is_refused() -> None:
    (reason,) = contents("a: &a [*a]")
    assert "nested deeper than" in reason
