import io
from pathlib import Path

import pytest

from apportion.base import InputError, LimitError
from apportion.sim import manifests
from apportion.sim.manifests import Loaded, has_pod_template, load_bytes, load_paths

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, image: i}]}\n"


def load(text: str) -> Loaded:
    return load_bytes(text.encode())


def names(loaded: Loaded) -> list[str]:
    return [o.tree["metadata"]["name"] for o in loaded.objects]


def test_folders_are_read_sorted_and_only_their_manifests(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for path, name in (("b/x.yml", "third"), ("a.yaml", "first"), ("c.json", "second"), ("notes.txt", "no")):
        (tmp_path / path).write_text(POD % name)
    loaded = load_paths([str(tmp_path), "-"], io.BytesIO((POD % "piped").encode()))
    assert names(loaded) == ["first", "second", "third", "piped"]
    assert [o.file for o in loaded.objects][-1] == "-"


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nosuch: No such file"):
        load_paths([str(tmp_path / "nosuch")])
    with pytest.raises(InputError, match="no standard input"):
        load_paths(["-"])


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "big.yaml").write_text("a" * 100)
    monkeypatch.setattr(manifests, "FILE_BYTES_MAX", 99)
    with pytest.raises(LimitError, match="is larger than"):
        load_paths([str(tmp_path)])
    monkeypatch.setattr(manifests, "OBJECTS_MAX", 2)
    with pytest.raises(LimitError, match="more than 2 objects"):
        load("---\n".join(POD % n for n in "abc"))


def test_lists_are_flattened_and_items_may_leave_out_their_type() -> None:
    text = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}}
- apiVersion: v1
  kind: PodList
  items:
  - {metadata: {name: p1}, spec: {containers: [{name: c, image: i}]}}
- {metadata: {name: nothing}}
---
apiVersion: resource.k8s.io/v1beta1
kind: ResourceSliceList
items:
- metadata: {name: s1}
  spec:
    driver: d.io
    nodeName: n1
    pool: {name: n1, generation: 1, resourceSliceCount: 1}
    devices: [{name: d0, basic: {attributes: {a: {int: 1}}}}]
"""
    loaded = load(text)
    assert [(o.tree["kind"], o.document, o.index) for o in loaded.objects] == [
        ("Node", 0, 0),
        ("Pod", 0, 1),
        ("ResourceSlice", 1, 0),
    ]
    assert loaded.objects[2].tree["spec"]["devices"] == [{"name": "d0", "attributes": {"a": {"int": 1}}}]
    (rejected,) = loaded.rejected
    assert (rejected.object, rejected.field) == ("item 2", "kind")


def test_each_object_ends_in_exactly_one_list() -> None:
    text = (POD % "good") + "---\n" + (POD % "Bad") + "---\njust text\n---\n- 1\n---\n"
    text += "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\n---\nkind: Pod\nmetadata: 3\n"
    loaded = load(text)
    assert names(loaded) == ["good"]
    assert [(r.document, r.field) for r in loaded.rejected] == [
        (1, "metadata.name"),
        (2, ""),
        (3, ""),
        (5, "metadata"),
    ]
    (unknown,) = loaded.not_understood
    assert unknown.object == "Thing t"
    assert "is left out" in unknown.reason


def test_unknown_kind_with_pods_in_it_is_pointed_out() -> None:
    text = """
apiVersion: example.com/v1
kind: Farm
metadata: {name: f}
spec: {groups: [{template: {spec: {containers: [{name: c}]}}}]}
"""
    (unknown,) = load(text).not_understood
    assert "its pods are NOT part of the result" in unknown.reason
    assert not has_pod_template({"a": [{"b": 1}]})


def test_missing_api_version_is_guessed_only_when_there_is_one_choice() -> None:
    loaded = load("kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n")
    assert names(loaded) == ["p"]
    assert loaded.warnings == ["Pod p has no apiVersion; read as v1"]
    ambiguous = load("kind: Event\nmetadata: {name: e}\n")
    assert "the kind alone does not tell" in ambiguous.not_understood[0].reason


def test_same_object_twice_is_one_and_a_different_one_is_rejected() -> None:
    same = (POD % "p") + "---\n" + (POD % "p")
    assert (names(load(same)), load(same).rejected) == (["p"], [])
    changed = (POD % "p") + "---\n" + (POD % "p").replace("image: i", "image: other")
    (rejected,) = load(changed).rejected
    assert rejected.reason == "defined before in -, document 0; the first one counts"


def test_classic_dra_is_rejected_with_the_reason() -> None:
    (rejected,) = load("apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaim\nmetadata: {name: c}\n").rejected
    assert (rejected.field, "classic DRA" in rejected.reason) == ("apiVersion", True)


def test_template_that_parses_is_one_reason_and_not_many() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: 'p-{{.Index}}'}\nspec: {containers: []}\n"
    (rejected,) = load(text).rejected
    assert "render it first" in rejected.reason


def test_dump_with_status_and_nulls_loads() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: n, uid: u, creationTimestamp: null, resourceVersion: "5"}
spec: {nodeName: n1, containers: [{name: c, image: i, resources: {}, ports: null}]}
status: {phase: Running, hostIP: 10.0.0.1, startTime: 2024-01-01T00:00:00Z}
"""
    (entry,) = load(text).objects
    assert entry.tree["status"]["startTime"] == "2024-01-01T00:00:00Z"
