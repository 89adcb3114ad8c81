"""Windows and percentiles, combined runs, data items, comparisons, and the check of placements."""

from typing import Any

import pytest

from apportion.bench.collecting import Sample
from apportion.bench.compare import compare, find_drops
from apportion.bench.data_items import make_data_items
from apportion.bench.outcome import combine_runs, describe_run, failed
from apportion.bench.verify import verify
from apportion.bench.windows import percentile, relative_spread, sampling_error, window_rates


def test_percentiles() -> None:
    values = list(range(1, 101))
    assert [percentile(values, p) for p in (50, 90, 95, 99, 100)] == [50, 90, 95, 99, 100]
    assert percentile([3.0, 1.0], 50) == 1.0
    assert percentile([7], 99) == 7
    assert percentile([], 50) == 0.0


def test_windows_are_full_ones() -> None:
    times = [0.0, 0.01, 0.05, 0.15, 0.29, 0.34]
    assert window_rates(times, 0.0, 0.35) == [30.0, 10.0, 10.0]
    assert window_rates([1.0, 1.01], 1.0, 1.05) == [pytest.approx(40.0)]
    assert window_rates([], 0.0, 0.0) == []


def test_spread() -> None:
    assert relative_spread([90, 100, 110]) == pytest.approx(0.1)
    assert relative_spread([90]) == 0.0
    assert sampling_error([100, 100, 100]) == 0.0
    assert sampling_error([90, 110, 90, 110]) == pytest.approx(0.115, abs=0.001)


def _run(pods: int, end_s: float) -> dict[str, Any]:
    sample = Sample("ns", 0.0, end_s, end_s / 2, [end_s * i / pods for i in range(pods)], [1000, 2000, 3000])
    return {**describe_run([sample], 64.0), "calibration": 2.0, "notes": ["a"], "profile": ""}


def test_runs_are_combined() -> None:
    result = combine_runs("Case/x", "core", ["short"], [_run(100, 1.0), _run(100, 0.5)])
    assert (result["pods"], result["podsPerSecond"], result["runs"]) == (200, pytest.approx(133.3), [100.0, 200.0])
    assert result["podsPerCpuSecond"] == pytest.approx(266.7)
    assert result["spread"] == pytest.approx(0.3333)
    assert (result["decisionP50Us"], result["notes"], result["counted"]) == (2.0, ["a"], "pods")


def test_objects_count_where_no_pod_does() -> None:
    found = describe_run([Sample("", 0.0, 2.0, objects=50)], 1.0)
    assert (found["counted"], found["podsPerSecond"]) == ("objects", 25.0)


def test_data_items() -> None:
    good = combine_runs("Case/x", "core", [], [_run(100, 1.0)])
    items = make_data_items([good, failed("Case/y", "core", [], "why")])
    assert items["version"] == "v1"
    throughput = items["dataItems"][0]
    assert throughput["unit"] == "pods/s"
    assert set(throughput["data"]) == {"Average", "Perc50", "Perc90", "Perc95", "Perc99"}
    assert throughput["labels"]["Metric"] == "SchedulingThroughput"
    assert throughput["labels"]["Name"] == "BenchmarkPerfScheduling/Case/x"
    assert len(items["dataItems"]) == 3


def _result(name: str, rate: float, spread: float = 0.0, calibration: float = 1.0) -> dict[str, Any]:
    rates = {"podsPerSecond": rate, "podsPerCpuSecond": rate}
    return {"name": name, "mode": "core", **rates, "spread": spread, "calibration": calibration}


def test_comparison_knows_the_noise() -> None:
    before = [_result("a", 100, 0.05), _result("b", 100), _result("c", 100), _result("d", 100), _result("e", 1)]
    after = [_result("a", 91, 0.05), _result("b", 102), _result("c", 110), _result("d", 80)]
    after.append(failed("e", "core", [], "broken"))
    verdicts = [c.verdict for c in compare(before, after)]
    assert verdicts == ["within the noise", "within the noise", "faster", "slower", "only in one"]
    assert compare(before, after)[2].ratio == pytest.approx(1.1)


def test_drops_are_relative_to_the_machine() -> None:
    committed = [_result("a", 1000, calibration=4.0), _result("b", 1000, calibration=4.0)]
    # half as fast a machine: 500 is as good as before, 300 is not
    now = [_result("a", 500, calibration=2.0), _result("b", 300, calibration=2.0)]
    assert [(d.name, d.ratio) for d in find_drops(committed, now)] == [("b", pytest.approx(0.6))]


def _node(**room: str) -> dict[str, Any]:
    return {"metadata": {"name": "n"}, "status": {"allocatable": {"pods": "10", **room}}}


def _pod(name: str, cpu: object = "1", **more: Any) -> dict[str, Any]:
    spec = {"nodeName": "n", "containers": [{"resources": {"requests": {"cpu": cpu}}}], **more}
    return {"metadata": {"name": name, "namespace": "x", "uid": name, "labels": {"a": "b"}}, "spec": spec, "status": {}}


def test_the_check_finds_what_is_wrong() -> None:
    assert verify([_node(cpu="2")], [_pod("a"), _pod("b", "1000m")], [], []) == []
    assert "over-committed" in verify([_node(cpu="2")], [_pod("a", 2), _pod("b", "0.5")], [], [])[0]
    assert verify([_node(cpu="2")], [_pod("a", 2), _pod("b", "0.5")], [], [], checks_rooms=False) == []
    term = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "kubernetes.io/hostname"}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = verify([_node(cpu="2")], [_pod("a", affinity=anti), _pod("b")], [], [])
    assert found == ["pods x/a and x/b exclude each other and are both on n"]


def _device(**more: Any) -> dict[str, Any]:
    devices = [{"name": "d", **more}]
    return {"spec": {"driver": "x", "pool": {"name": "p"}, "nodeName": "n", "devices": devices}}


def _claim(name: str) -> dict[str, Any]:
    results = [{"driver": "x", "pool": "p", "device": "d"}]
    status = {"allocation": {"devices": {"results": results}}}
    return {"metadata": {"name": name, "namespace": "x"}, "status": status}


def test_a_device_is_given_once_unless_it_is_shared() -> None:
    claims = [_claim("c1"), _claim("c2")]
    assert verify([], [], claims, [_device()]) == ["device x/p/d is in claims x/c1 and x/c2"]
    assert verify([], [], claims, [_device(allowMultipleAllocations=True)]) == []
