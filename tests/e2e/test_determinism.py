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


def _play(scenario: Path, hash_seed: str, *more: str) -> bytes:
    command = [sys.executable, "-c", "from apportion.cli import main; main()", "play", str(scenario), *more]
    env = {"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, env=env, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def test_the_log_of_a_scenario_is_the_same_bytes(split_demo: list[Path], tmp_path: Path) -> None:
    """Names, uids and resource versions included: everything is printed."""
    logs = []
    for seed, order in (("0", split_demo), ("1", split_demo), ("2", split_demo[::-1])):
        scenario = tmp_path / "scenario.yaml"
        apply = {"apply": {"files": [p.name for p in order]}}
        shown = ["queue", "events", "Pod", "ResourceClaim", "Node"]
        steps = [apply, {"run": "idle"}, {"restart": "scheduler"}, {"run": "40s"}, {"print": shown}]
        scenario.write_text(yaml.safe_dump({"steps": steps}))
        logs.append(_play(scenario, seed))
    assert logs[0].count(b"Successfully assigned") >= 3
    assert logs[1] == logs[0]
    assert logs[2] == logs[0]
    assert _play(tmp_path / "scenario.yaml", "0", "--seed", "7") != logs[0]  # uids and names are others
