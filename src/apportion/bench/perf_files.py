"""Reads workload files in the format of Kubernetes' scheduler_perf."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from apportion.base import InputError

FILE_NAME: Final = "performance-config.yaml"
OWN_FILES: Final = Path(__file__).parent / "workloads"
LABELS: Final = ("performance", "short", "integration-test")
_CASE_FIELDS: Final = {
    "name", "workloadTemplate", "workloads", "featureGates", "labels", "schedulerConfigPath",
    "defaultPodTemplatePath", "metricsCollectorConfig", "defaultThresholdMetricSelector",
}  # fmt: skip
_WORKLOAD_FIELDS: Final = {
    "name", "params", "labels", "featureGates", "threshold", "thresholdMetricSelector", "workloadTemplate",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PerfWorkload:
    """One workload: the operations of its test case with its own parameters.

    ``problems`` says which fields of the file are not understood; such a workload cannot run.
    """

    name: str
    path: str
    labels: frozenset[str]
    operations: tuple[Mapping[str, Any], ...]
    params: Mapping[str, Any]
    gates: Mapping[str, bool]
    config_path: str | None = None
    default_pod_path: str | None = None
    threshold: float | None = None  # pods/s that kube-scheduler must reach
    rate: float | None = None  # the same; where the workload has none, the highest of its test case
    problems: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where the paths in the file start."""
        return Path(self.path).parent


def read_workloads(paths: Sequence[str]) -> list[PerfWorkload]:
    """Return the workloads of files and of all performance-config.yaml files in folders, in order.

    Raises InputError when a path cannot be read or holds no workload file.
    """
    return [w for path in paths for file in _find_files(Path(path)) for w in _read_file(file)]


def select_workloads(workloads: Iterable[PerfWorkload], pattern: str, labels: Sequence[str]) -> list[PerfWorkload]:
    """Return those whose name matches the pattern somewhere and that have all the labels."""
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise InputError(f"--workload {pattern!r} is not a regular expression: {error}") from None
    return [w for w in workloads if wanted.search(w.name) and w.labels.issuperset(labels)]


def _find_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.rglob(FILE_NAME)) or sorted(path.glob("*.yaml"))
    if not files:
        raise InputError(f"{path}: no {FILE_NAME} in it")
    return files


def _read_file(path: Path) -> list[PerfWorkload]:
    try:
        cases = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not YAML: {error}") from None
    if not isinstance(cases, list) or not all(isinstance(c, dict) and c.get("name") for c in cases):
        raise InputError(f"{path}: is not a list of test cases with names")
    return [_make(path, case, entry) for case in cases for entry in case.get("workloads") or ()]


def _make(path: Path, case: Mapping[str, Any], entry: Mapping[str, Any]) -> PerfWorkload:
    unknown = [f"field {f!r} of the test case" for f in case if f not in _CASE_FIELDS]
    unknown += [f"field {f!r} of the workload" for f in entry if f not in _WORKLOAD_FIELDS]
    config = case.get("schedulerConfigPath")
    return PerfWorkload(
        name=f"{case['name']}/{entry.get('name', '')}",
        path=str(path),
        labels=frozenset([*(case.get("labels") or ()), *(entry.get("labels") or ())]),
        operations=tuple(entry.get("workloadTemplate") or case.get("workloadTemplate") or ()),
        params=entry.get("params") or {},
        gates={**(case.get("featureGates") or {}), **(entry.get("featureGates") or {})},
        config_path=None if config is None else str(path.parent / config),
        default_pod_path=case.get("defaultPodTemplatePath"),
        threshold=_to_number(entry.get("threshold")),
        rate=_read_rate(case, entry),
        problems=tuple(f"{u} is not known" for u in unknown),
    )


def _read_rate(case: Mapping[str, Any], entry: Mapping[str, Any]) -> float | None:
    own = _to_number(entry.get("threshold"))
    if own is not None:
        return own
    others = [_to_number(w.get("threshold")) for w in case.get("workloads") or ()]
    return max((t for t in others if t is not None), default=None)


def _to_number(threshold: Any) -> float | None:
    """Return a threshold; one by topic counts as its highest."""
    if isinstance(threshold, Mapping):
        return max((float(v) for v in threshold.values()), default=None)
    return None if threshold is None else float(threshold)
