"""What is no scenario is refused with the line."""

from pathlib import Path

import pytest

from apportion.sim.play import ScenarioError, read_scenario
from apportion.sim.play.scenario import Apply, Expect, ObjectItem, Run

GOOD = """\
featureGates: {DRAListTypeAttributes: true}
steps:
- apply:
    objects:
    - {apiVersion: v1, kind: Namespace, metadata: {name: team}}
    files: [b.yaml, more]
- run: 1m30s
- run: idle
- expect:
  - {kind: Pod, count: 2}
"""


def write(folder: Path, text: str) -> str:
    path = folder / "s.yaml"
    path.write_text(text)
    return str(path)


def object_text(name: str) -> str:
    return f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"


def test_steps_are_read_with_their_lines_and_files(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "z.yaml").write_text(object_text("z") + "---\n" + object_text("y"))
    (tmp_path / "b.yaml").write_text(object_text("b"))
    scenario = read_scenario(write(tmp_path, GOOD))
    assert [(s.kind, s.line) for s in scenario.steps] == [("apply", 3), ("run", 7), ("run", 8), ("expect", 9)]
    apply, run, idle, expect = (s.action for s in scenario.steps)
    assert isinstance(apply, Apply)
    assert [o["metadata"]["name"] for o in apply.objects] == ["team", "b", "z", "y"]
    assert (run, idle) == (Run(90.0), Run(None))
    assert expect == Expect([ObjectItem({"kind": "Pod"}, count=2)])
    assert scenario.feature_gates == {"DRAListTypeAttributes": True}


def test_the_order_in_which_files_are_named_makes_no_difference(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text(object_text(name))
    orders = [
        read_scenario(write(tmp_path, f"steps: [{{apply: {{files: {f}}}}}]"))
        for f in ("[a.yaml, b.yaml]", "[b.yaml, a.yaml]")
    ]
    assert orders[0] == orders[1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[1]", "line 1: a scenario is a mapping"),
        ("steps: []", "line 1: a scenario needs steps"),
        ("a: 1\nsteps: [{run: idle}]", "line 1: a: unknown key 'a'"),
        ("steps:\n- run: idle\n- rum: idle", "line 3: step 1: unknown step 'rum'"),
        ("steps:\n- run: 5", "line 2: step 0: 5 is not a duration"),
        ("steps:\n- run: 5 s", "line 2: step 0: '5 s' is not a duration"),
        ("steps:\n- {run: idle, mark: m}", "line 2: step 0: a step is a mapping with one key"),
        ("steps:\n- patch:\n    kind: Pod\n    name: p", "line 2: step 0: Object missing required field `patch`"),
        ("steps:\n- delete:\n    kind: Pod\n    name: p\n    fast: true", "Object contains unknown field `fast`"),
        ("steps:\n- patch: {kind: Pod, name: p, patch: {}, type: other}", "type: Invalid enum value 'other'"),
        ("steps:\n- restart: all", "Invalid enum value 'all'"),
        ("steps:\n- expect:\n  - {kind: Pod}\n  - {name: p}", "line 4: step 0: an item needs a kind"),
        ("steps:\n- expect:\n  - {kind: Pod, count: many}", "count: expected `int`"),
        ("steps:\n- expect:\n  - queue: {a/b: lost}", "Invalid enum value 'lost'"),
        ("steps:\n- apply:\n    objects: [{metadata: {}}]", "object 0 has no kind"),
        ("steps:\n- apply:\n    files: [none.yaml]", "line 2: step 0: there is no file none.yaml"),
        ("featureGates: {A: maybe}\nsteps: [{run: idle}]", "line 1: featureGates.A"),
        ("steps: [{run: idle}]\n---\nsteps: []", "a scenario is one document"),
        ("steps: [", "not valid YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        read_scenario(write(tmp_path, text))
    assert complaint in str(caught.value)


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(ScenarioError, match="No such file"):
        read_scenario("nowhere.yaml")
