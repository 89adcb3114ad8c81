"""The real kubectl with ``apportion up``: the commands of the recorded session, in order, print what was recorded.

Recorded with kubectl 1.37.1 against a whole Kubernetes control plane without kubelets.
"""

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from e2e.kubectl_cluster import Cluster, Printed
from e2e.kubectl_comparison import normalise

_GOLDEN = Path(__file__).parents[1] / "golden" / "kubectl.jsonl.gz"
_STEPS: list[dict[str, Any]] = [json.loads(line) for line in gzip.decompress(_GOLDEN.read_bytes()).splitlines()]
_SLACK_S = 10.0
_READING = ("cluster-info", "get", "describe", "diff", "events", "explain", "api-versions", "api-resources", "auth")

_MANAGED = "server-side apply needs managedFields, which are not kept"
_ACCESS = "there are no users, roles count for nothing yet, and --as is refused"
_LEFT_OUT = {
    17: _MANAGED,
    18: _MANAGED,
    83: _ACCESS,
    84: _ACCESS,
    85: _ACCESS,
    86: _ACCESS,
}
# Either node is as good for the third pod; where this was recorded it went to n1, and what follows depends on it.
_BEFORE = {15: ("cordon", "n2"), 23: ("uncordon", "n2")}
# The node controller has taken the taint back by then.
_MAY_CHANGE_NOTHING = (3, 4)
# Kubernetes serves more groups; scheduling.k8s.io/v1alpha3 was switched off where this was recorded.
_LISTS_OF_ALL = (92, 93)
_SERVED_HERE_ONLY = "scheduling.k8s.io/v1alpha3"
# What Kubernetes writes about its fields is not served; their names and types are.
_EXPLAINED = (95, 96, 97)


def read_output(number: int, text: str) -> list[str]:
    """Return the lines of an output that are compared."""
    lines = normalise(text)
    if number in _MAY_CHANGE_NOTHING:
        return [line.removesuffix(" (no change)") for line in lines]
    if number in _LISTS_OF_ALL:
        return [line for line in lines if line != _SERVED_HERE_ONLY]
    if number in _EXPLAINED:
        head = text.splitlines().index("DESCRIPTION:") if "DESCRIPTION:" in text else 0
        return [line for i, line in enumerate(text.splitlines()) if i < head or "\t<" in line]
    return lines


def compare(number: int, printed: Printed) -> list[str]:
    """Return what differs from the recorded output."""
    step = _STEPS[number]
    found = [] if printed.rc == step["rc"] else [f"exit status {printed.rc} instead of {step['rc']}"]
    for name in ("stdout", "stderr"):
        got, want = (read_output(number, t) for t in (getattr(printed, name), step[name]))
        if number in _LISTS_OF_ALL:
            want = [line for line in want if line in got]
        if want != got:
            found += [f"- {line}" for line in want if line not in got]
            found += [f"+ {line}" for line in got if line not in want] or ["another order of lines"]
    return found


def take_step(cluster: Cluster, number: int, settle_s: float) -> list[str]:
    """Run a command; one that only reads is run again until it prints what it should or time is up."""
    step = _STEPS[number]
    deadline_s = time.monotonic() + (settle_s + _SLACK_S if step["args"][0] in _READING else 0.0)
    while True:
        found = compare(number, cluster.run(*step["args"], stdin=step.get("stdin", "")))
        if not found or time.monotonic() > deadline_s:
            return found
        time.sleep(0.1)


@pytest.mark.slow
def test_the_recorded_session_goes_as_recorded(start_cluster: Callable[..., Cluster]) -> None:
    cluster = start_cluster("--nodes", "0", "--kubelets", "none")
    settle_s = 0.0
    differences = {}
    for number, step in enumerate(_STEPS):
        if number in _BEFORE:
            assert cluster.run(*_BEFORE[number]).rc == 0
        found = [] if number in _LEFT_OUT else take_step(cluster, number, settle_s)
        settle_s = step["settleSeconds"]
        if found:
            differences[f"{number} {' '.join(step['args'])}"] = found[:6]
    assert differences == {}
