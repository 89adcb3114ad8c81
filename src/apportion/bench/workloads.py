"""The workloads of ``apportion bench core``: scheduler_perf's names and sizes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from apportion.bench import objects
from apportion.bench.objects import Tree

Put = tuple[str, Tree]  # resource, object
_REQUESTS = {"cpu": "100m", "memory": "500Mi"}


@dataclass(frozen=True, slots=True)
class Workload:
    """What exists before the measurement (``setup``, then ``init`` pods are scheduled), and what is measured."""

    name: str
    setup: Callable[[], Iterator[Put]]
    init: Callable[[], Iterator[Put]]
    measured: Callable[[], Iterator[Put]]
    measured_pods: int


def _basic(nodes: int, init: int, measured: int) -> Workload:
    def pods(prefix: str, count: int) -> Iterator[Put]:
        for i in range(count):
            yield "pods", objects.pod(f"{prefix}-{i}", "test", _REQUESTS)

    return Workload(
        f"SchedulingBasic/{nodes}Nodes_{measured}Pods",
        lambda: (("nodes", objects.node(i)) for i in range(nodes)),
        lambda: pods("init", init),
        lambda: pods("pod", measured),
        measured,
    )


def _anti_affinity(nodes: int, init: int, measured: int) -> Workload:
    labels = {"color": "green"}
    affinity = objects.anti_affinity(labels, ["sched-1", "sched-0"])

    def pods(namespace: str, count: int) -> Iterator[Put]:
        for i in range(count):
            yield "pods", objects.pod(f"pod-{i}", namespace, _REQUESTS, labels=labels, affinity=affinity)

    return Workload(
        f"SchedulingPodAntiAffinity/{nodes}Nodes_{measured}Pods",
        lambda: (("nodes", objects.node(i)) for i in range(nodes)),
        lambda: pods("sched-0", init),
        lambda: pods("sched-1", measured),
        measured,
    )


def _claim_setup(nodes: int, init: int) -> Iterator[Put]:
    """Yield nodes with devices, and claims that hold ``init`` of them."""
    yield "deviceclasses", objects.device_class()
    for i in range(nodes):
        yield "nodes", objects.node(i)
        yield "resourceslices", objects.resource_slice(i)
    for i in range(init):
        yield "resourceclaims", objects.allocate(objects.claim(f"claim-{i}", "init"), i, nodes)


def _claim_pods(count: int) -> Iterator[Tree]:
    entry = {"name": "resource", "resourceClaimTemplateName": "test-claim-template"}
    for i in range(count):
        pod = objects.pod(f"pod-{i}", "test", resourceClaims=[entry])
        pod["spec"]["containers"][0]["resources"] = {"claims": [{"name": "resource"}]}
        yield pod


def _claim_template_core(nodes: int, init: int, measured: int) -> Workload:
    def pods() -> Iterator[Put]:
        """Yield the pod, the claim that the claim controller makes for it, and the pod that knows of it."""
        for i, pod in enumerate(_claim_pods(measured)):
            yield "pods", pod
            claim = objects.claim(f"pod-{i}-resource", "test", pod)
            yield "resourceclaims", claim
            names = [{"name": "resource", "resourceClaimName": claim["metadata"]["name"]}]
            yield "pods", {**pod, "status": {**pod["status"], "resourceClaimStatuses": names}}

    name = f"SchedulingWithResourceClaimTemplate/{init + measured}pods_{nodes}nodes"
    return Workload(name, lambda: _claim_setup(nodes, init), lambda: iter(()), pods, measured)


def _claim_template_api(nodes: int, init: int, measured: int) -> Workload:
    def setup() -> Iterator[Put]:
        yield "resourceclaimtemplates", objects.claim_template("test-claim-template", "test")
        yield from _claim_setup(nodes, init)

    def pods() -> Iterator[Put]:
        return (("pods", pod) for pod in _claim_pods(measured))

    name = f"SchedulingWithResourceClaimTemplate/{init + measured}pods_{nodes}nodes"
    return Workload(name, setup, lambda: iter(()), pods, measured)


def core_workloads() -> list[Workload]:
    """Return the workloads that ``apportion bench core`` runs."""
    return [
        _basic(5000, 1000, 10000),
        _anti_affinity(5000, 1000, 2000),
        _claim_template_core(500, 2500, 2500),
    ]


def api_workloads() -> list[Workload]:
    """Return the workloads that ``apportion bench api`` runs: the same, with claims made by the controller."""
    return [*core_workloads()[:2], _claim_template_api(500, 2500, 2500)]
