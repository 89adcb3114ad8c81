"""The same objects and seed give the same bytes: under another hash seed, and with the files in another order."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import yaml


def _simulate(paths: list[Path], hash_seed: str, *more: str) -> bytes:
    command = [sys.executable, "-c", "from apportion.cli import main; main()", "simulate", "--output", "json", *more]
    for path in paths:
        command += ["-f", str(path)]
    env = {"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, env=env, timeout=60, check=False).stdout


@pytest.fixture
def split_demo(tmp_path: Path) -> list[Path]:
    """Return the demo's objects, each in a file of its own, pods with creation times that tell them apart."""
    paths = []
    for source in sorted(Path(str(files("apportion.sim"))).joinpath("demo").glob("*.yaml")):
        for document in yaml.safe_load_all(source.read_text()):
            if document is None:
                continue
            number = len(paths)
            document["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{number:02d}Z"
            path = tmp_path / f"{number:02d}.yaml"
            path.write_text(yaml.safe_dump(document))
            paths.append(path)
    return paths


def test_hash_seed_and_file_order_change_nothing(split_demo: list[Path]) -> None:
    reference = _simulate(split_demo, "0")
    assert reference.count(b'"node"') > 10
    assert _simulate(split_demo, "1") == reference
    assert _simulate(split_demo[::-1], "2") == reference


def test_the_seed_decides_ties(split_demo: list[Path]) -> None:
    results = {_simulate(split_demo, "0", "--seed", str(seed)) for seed in range(4)}
    assert len(results) > 1
