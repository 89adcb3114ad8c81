from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree

from apportion.api.feature_gates import FeatureGates
from apportion.base import Rng
from apportion.client import Request, Response
from apportion.client.memory import OnDone
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.explain import advise, judge
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.shell import Shell

DRIVER, GPU = "d.example.com", "example.com/gpu"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpus"


def asking(name: str, requests: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """Return a pod whose one container asks for these."""
    asked = {"cpu": "1", **(requests or {GPU: "1"})}
    return pod_tree(name, containers=[{"name": "main", "image": "i", "resources": {"requests": asked}}], **more)


def bench_with(devices: int = 2, gpus: dict[str, Any] | None = None) -> Bench:
    """Return a cluster with a node that has devices, and the class gpus for them."""
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": f"dev{i}"} for i in range(devices)]
    spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": listed}
    bench.put("resourceslices", {"metadata": {"name": "n1"}, "spec": spec})
    put_class(bench, {"extendedResourceName": GPU} if gpus is None else gpus)
    return bench


def put_class(bench: Bench, spec: dict[str, Any], name: str = "gpus", created: str = "2026-01-01T00:00:00Z") -> None:
    bench.put("deviceclasses", {"metadata": {"name": name, "creationTimestamp": created}, "spec": spec})


def claims(bench: Bench) -> list[dict[str, Any]]:
    return list(bench.transport.trees("resourceclaims"))


def run(bench: Bench, *pods: dict[str, Any]) -> None:
    bench.put("pods", *pods)
    bench.run()


def wait(bench: Bench, seconds: float) -> None:
    bench.clock.advance_to(bench.clock.now() + seconds)
    bench.scheduler.flush()
    bench.run()


@pytest.mark.parametrize("resource", [GPU, IMPLICIT])
def test_devices_serve_a_resource_under_both_names(resource: str) -> None:
    bench = bench_with()
    run(bench, asking("p", {resource: "2"}))
    assert bench.node_of("p") == "n1"
    (claim,) = claims(bench)
    meta = claim["metadata"]
    assert meta["name"].startswith("p-extended-resources-") and meta["generateName"] == "p-extended-resources-"
    assert [r["device"] for r in claim["status"]["allocation"]["devices"]["results"]] == ["dev0", "dev1"]
    pod = bench.transport.find("pods", "default", "p")
    assert pod is not None
    mapping = {"containerName": "main", "resourceName": resource, "requestName": "container-0-request-1"}
    recorded = {"requestMappings": [mapping], "resourceClaimName": meta["name"]}
    assert pod["status"]["extendedResourceClaimStatus"] == recorded
    run(bench, asking("late"))
    assert bench.message_of("late") == "0/1 nodes are available: 1 cannot allocate all claims."
    assert len(claims(bench)) == 1


def test_a_node_with_a_device_plugin_needs_no_claim() -> None:
    bench = bench_with()
    bench.put("nodes", node_tree("n1", extra={GPU: "1"}))
    run(bench, asking("p"))
    assert bench.node_of("p") == "n1" and claims(bench) == []
    run(bench, asking("late"))
    assert bench.message_of("late").startswith(f"0/1 nodes are available: 1 Insufficient {GPU}.")


def test_one_resource_by_plugin_and_one_by_devices() -> None:
    bench = bench_with()
    bench.put("nodes", node_tree("n1", extra={"example.com/nic": "1"}))
    run(bench, asking("p", {GPU: "1", "example.com/nic": "1"}))
    assert bench.node_of("p") == "n1"
    (claim,) = claims(bench)
    assert [r["exactly"]["deviceClassName"] for r in claim["spec"]["devices"]["requests"]] == ["gpus"]


def test_what_nobody_serves_is_missing_until_a_class_appears() -> None:
    bench = bench_with(gpus={})
    run(bench, asking("p"))
    assert bench.message_of("p") == f"0/1 nodes are available: 1 Insufficient {GPU}."
    put_class(bench, {"extendedResourceName": "example.com/other"}, "other")
    wait(bench, 30)
    assert bench.node_of("p") == ""
    put_class(bench, {"extendedResourceName": GPU})
    wait(bench, 30)
    assert bench.node_of("p") == "n1"


def test_of_two_classes_the_newest_serves_the_name() -> None:
    bench = bench_with(devices=4)
    put_class(bench, {"extendedResourceName": GPU}, "newer", "2026-02-01T00:00:00Z")
    put_class(bench, {"extendedResourceName": GPU}, "also-newer", "2026-02-01T00:00:00Z")
    run(bench, asking("p"))
    (claim,) = claims(bench)
    assert claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == "also-newer"


def test_a_pod_may_have_claims_of_its_own_beside() -> None:
    bench = bench_with()
    requests = [{"name": "r", "exactly": {"deviceClassName": "gpus", "count": 1}}]
    meta = {"name": "c", "namespace": "default", "uid": "uid-c"}
    bench.put("resourceclaims", {"metadata": meta, "spec": {"devices": {"requests": requests}}})
    run(bench, asking("p", resourceClaims=[{"name": "c", "resourceClaimName": "c"}]))
    assert bench.node_of("p") == "n1"
    devices = [c["status"]["allocation"]["devices"]["results"][0]["device"] for c in claims(bench)]
    assert sorted(devices) == ["dev0", "dev1"]


@pytest.mark.parametrize("failing", ["claims", "status", "bind"])
def test_what_fails_on_the_way_leaves_no_claim(monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    bench = bench_with(devices=1)
    submit = bench.transport.submit
    failures = [1]

    def flaky(request: Request, on_done: OnDone) -> None:
        what = (request.verb, request.resource, request.subresource)
        is_hit = {
            "claims": what == ("create", "resourceclaims", ""),
            "status": what == ("patch", "pods", "status") and b"extendedResourceClaimStatus" in request.body,
            "bind": what == ("create", "pods", "binding"),
        }[failing]
        if is_hit and failures:
            failures.pop()
            on_done(Response(403, message="no"))
        else:
            submit(request, on_done)

    monkeypatch.setattr(bench.transport, "submit", flaky)
    run(bench, asking("p"))
    assert bench.node_of("p") == "" and claims(bench) == []
    wait(bench, 30)
    assert bench.node_of("p") == "n1" and len(claims(bench)) == 1


def test_claims_made_and_not_made_are_counted() -> None:
    bench = bench_with(devices=1)
    scheduler = build_scheduler(
        SchedulerConfig(), bench.state, FeatureGates.parse(""), bench.clock, Rng(0), perf=lambda: 0.0
    )
    bench.scheduler, bench.shell = scheduler, Shell(scheduler, bench.transport, bench.clock)
    bench.shell.start()
    bench.deliver()
    submit, failures = bench.transport.submit, [1]

    def flaky(request: Request, on_done: OnDone) -> None:
        if (request.verb, request.resource) == ("create", "resourceclaims") and failures:
            failures.pop()
            on_done(Response(403, message="no"))
        else:
            submit(request, on_done)

    bench.transport.submit = flaky  # type: ignore[method-assign]
    run(bench, asking("p"))
    wait(bench, 30)
    assert bench.node_of("p") == "n1" and scheduler.recorder is not None
    lines = scheduler.recorder.render(scheduler).decode().splitlines()
    for status in ("success", "failure"):
        assert f'scheduler_resourceclaim_creates_total{{status="{status}"}} 1' in lines


def test_a_claim_left_over_from_an_earlier_attempt_is_deleted_first() -> None:
    bench = bench_with(devices=1)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-default-p", "controller": True}
    requests = [{"name": "container-0-request-1", "exactly": {"deviceClassName": "gpus", "count": 1}}]
    meta = {
        "name": "p-extended-resources-old",
        "namespace": "default",
        "uid": "uid-old",
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [owner],
    }
    bench.put("resourceclaims", {"metadata": meta, "spec": {"devices": {"requests": requests}}})
    bench.transport.keep_events = True
    run(bench, asking("p"))
    text = "1 cannot schedule extended resource claim. deletion of ResourceClaim completed"
    assert bench.transport.events[0]["note"] == f"0/1 nodes are available: {text}"
    wait(bench, 30)
    assert bench.node_of("p") == "n1"
    assert [c["metadata"]["name"] != meta["name"] for c in claims(bench)] == [True]


def test_pods_without_such_resources_are_judged_by_kind_alone() -> None:
    bench = bench_with()
    run(bench, asking("p"))
    plain = bench.state.reader.read_tree(pod_tree("plain"))
    with_plugin = bench.state.reader.read_tree(asking("other", {"example.com/nic": "1"}))
    for pod in (plain, with_plugin):
        assert bench.scheduler.search.plan(pod) is bench.scheduler.search.plan(pod)


def test_the_advice_counts_devices() -> None:
    bench = bench_with()
    short_of_devices = bench.state.reader.read_tree(asking("p", {GPU: "3"}))
    advice = advise(bench.scheduler, short_of_devices, judge(bench.scheduler, short_of_devices))
    assert advice == ["on n1: request container-0-request-1: 2 devices match, 2 free, 3 wanted"]
    short_of_cpu = bench.state.reader.read_tree(asking("q", {GPU: "1", "cpu": "64"}))
    advice = advise(bench.scheduler, short_of_cpu, judge(bench.scheduler, short_of_cpu))
    assert advice == ["asks for 64 cpu; the most that is free is 4, on n1"]
