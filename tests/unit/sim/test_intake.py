from pathlib import Path

import orjson

from apportion.base import Rng
from apportion.sim.intake import ClusterInput, complete_cluster, read_cluster
from apportion.sim.manifests import load_bytes

INPUT = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 100
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      priorityClassName: high
      containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]
      resourceClaims: [{name: g, resourceClaimTemplateName: gpu}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
        matchLabelKeys: [pod-template-hash]
---
apiVersion: v1
kind: Pod
metadata: {name: lost}
spec: {priorityClassName: nosuch, containers: [{name: c, image: i}]}
"""


def read(text: str, seed: int = 1) -> ClusterInput:
    return complete_cluster(load_bytes(text.encode()), rng=Rng(seed))


def test_workload_becomes_admitted_pods_with_claims() -> None:
    result = read(INPUT)
    pods = [t for t in result.trees() if t["kind"] == "Pod"]
    assert len(pods) == 2
    for pod in pods:
        assert pod["metadata"]["uid"]
        assert pod["spec"]["priority"] == 100
        assert len(pod["spec"]["tolerations"]) == 2
        assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": 1}
        selector = pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]
        template_hash = pod["metadata"]["labels"]["pod-template-hash"]
        assert selector["matchExpressions"][0]["values"] == [template_hash]
        (status,) = pod["status"]["resourceClaimStatuses"]
        (claim,) = [t for t in result.trees() if t["metadata"]["name"] == status["resourceClaimName"]]
        assert claim["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]


def test_pod_that_admission_refuses_is_listed_and_the_rest_loads() -> None:
    (rejected,) = read(INPUT).rejected
    assert (rejected.object, rejected.field) == ("Pod default/lost", "spec.priorityClassName")


def test_same_seed_same_bytes() -> None:
    assert orjson.dumps(read(INPUT).trees()) == orjson.dumps(read(INPUT).trees())
    assert orjson.dumps(read(INPUT, 2).trees()) != orjson.dumps(read(INPUT, 1).trees())


def test_reading_from_files(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(INPUT)
    result = read_cluster([str(tmp_path)], rng=Rng(1))
    assert result.trees() == read(INPUT).trees()
    assert {o.file for o in result.objects} == {str(tmp_path / "all.yaml")}
