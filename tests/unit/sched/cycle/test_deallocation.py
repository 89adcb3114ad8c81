from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree

DRIVER = "d.example.com"
CLAIMED = {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}


def _device(bench: Bench, node: str) -> None:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": [{"name": "dev"}]}
    bench.put("resourceslices", {"metadata": {"name": node}, "spec": spec})


def _allocated(users: tuple[str, ...]) -> dict[str, Any]:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    results = [{"request": "r", "driver": DRIVER, "pool": "n1", "device": "dev"}]
    allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    requests = [{"name": "r", "exactly": {"deviceClassName": "any", "count": 1}}]
    references = [{"resource": "pods", "name": u, "uid": f"uid-default-{u}"} for u in users]
    return {
        "metadata": {"name": "c", "namespace": "default", "uid": "uid-c"},
        "spec": {"devices": {"requests": requests}},
        "status": {"allocation": allocation, "reservedFor": references},
    }


@pytest.mark.parametrize(("users", "moves"), [((), True), (("p",), True), (("other",), False)])
def test_an_idle_claim_on_a_full_node_is_freed_and_allocated_elsewhere(users: tuple[str, ...], moves: bool) -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="1"), node_tree("n2", cpu="4"))
    bench.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {}})
    _device(bench, "n1")
    _device(bench, "n2")
    bench.put("resourceclaims", _allocated(users))
    bench.put("pods", pod_tree("busy", cpu="1", node="n1"), pod_tree("p", cpu="2", **CLAIMED))
    bench.run()
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.node_of("p") == ("n2" if moves else "")
    claim = bench.transport.find("resourceclaims", "default", "c")
    assert claim is not None
    pool = claim["status"]["allocation"]["devices"]["results"][0]["pool"]
    assert pool == ("n2" if moves else "n1")
