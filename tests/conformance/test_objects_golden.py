"""Every object of the recorded clusters, which kube-apiserver accepted, is valid here and has nothing to default."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from apportion.api.defaults import set_defaults
from apportion.api.kinds import find_kind_of
from apportion.api.pod_admission import merge_label_keys
from apportion.api.validation import validate

GOLDEN = Path(__file__).parent.parent / "golden"
CLUSTERS_EACH = 6
FILES = sorted(GOLDEN.glob("filter-score-*.jsonl.gz"))


def clusters(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for _, line in zip(range(CLUSTERS_EACH), lines, strict=False)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name.removesuffix(".jsonl.gz"))
def test_accepted_objects_are_valid_and_complete(path: Path) -> None:
    for cluster in clusters(path):
        for tree in cluster["objects"] + cluster["pending"]:
            kind = find_kind_of(tree)
            assert kind is not None, tree["kind"]
            completed = set_defaults(tree, kind)
            assert [str(e) for e in validate(completed)] == [], tree["metadata"]
            if kind.name == "Pod":
                assert completed["spec"] == tree["spec"], tree["metadata"]
                labels = tree["metadata"].get("labels") or {}
                assert merge_label_keys(tree["spec"], labels) == tree["spec"], tree["metadata"]
