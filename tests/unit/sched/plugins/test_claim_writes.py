"""What others wrote into a claim never keeps a pod from it, and never lets a pod have devices not chosen for it."""

from typing import Any

import orjson
import pytest
from builders import Bench, node_tree, pod_tree

from apportion.client import Request

DRIVER = "d.example.com"
CLAIMED = {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}
# as later versions and other writers leave results: fields that no view knows, empty lists, amounts in another notation
FOREIGN: dict[str, dict[str, Any]] = {
    "unknown field": {"notKnownYet": {"a": [1.5, None]}},
    "empty list": {"bindingConditions": [], "tolerations": []},
    "null": {"shareID": None},
    "amount": {"consumedCapacity": {"memory": "1024Mi", "slots": 2}},
    "toleration": {"tolerations": [{"key": "k", "operator": "Exists", "later": "x"}]},
}


def bench_with(results: list[dict[str, Any]], users: tuple[str, ...] = ("first",), **allocation: Any) -> Bench:
    """Return two nodes with one device each, and the claim c that somebody allocated."""
    bench = Bench()
    bench.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {}})
    for name in ("n1", "n2"):
        bench.put("nodes", node_tree(name))
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": [{"name": "dev"}]}
        bench.put("resourceslices", {"metadata": {"name": name}, "spec": spec})
    put_claim(bench, {"devices": {"results": results}, **allocation}, users)
    return bench


def put_claim(bench: Bench, allocation: dict[str, Any] | None, users: tuple[str, ...]) -> None:
    requests = [{"name": "r", "exactly": {"deviceClassName": "any", "count": 1}}]
    meta = {"name": "c", "namespace": "default", "uid": "uid-c"}
    reserved = [{"resource": "pods", "name": u, "uid": f"uid-default-{u}", "later": 1} for u in users]
    status = {"allocation": allocation, "reservedFor": reserved} if allocation else {}
    tree = {"metadata": meta, "spec": {"devices": {"requests": requests}}, "status": status}
    bench.transport.put("resourceclaims", tree)


def on(node: str, **more: Any) -> dict[str, Any]:
    return {"request": "r", "driver": DRIVER, "pool": node, "device": "dev", **more}


def only(node: str) -> dict[str, Any]:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}], "later": []}
    return {"nodeSelectorTerms": [term]}


def claim(bench: Bench) -> dict[str, Any]:
    tree = bench.transport.find("resourceclaims", "default", "c")
    assert tree is not None
    return tree


def users(bench: Bench) -> list[str]:
    return [r["name"] for r in claim(bench)["status"].get("reservedFor") or []]


@pytest.mark.parametrize("known", [("first",), ()], ids=["second consumer", "first consumer"])
@pytest.mark.parametrize("more", FOREIGN.values(), ids=FOREIGN)
def test_a_claim_that_others_wrote_is_reserved(more: dict[str, Any], known: tuple[str, ...]) -> None:
    bench = bench_with([on("n1", **more)], known, nodeSelector=only("n1"), later={"x": []})
    before = claim(bench)["status"]
    bench.put("pods", pod_tree("p", **CLAIMED))
    bench.run()
    assert bench.node_of("p") == "n1" and users(bench) == [*known, "p"]
    assert claim(bench)["status"]["allocation"] == before["allocation"]
    assert claim(bench)["status"]["reservedFor"][: len(known)] == before.get("reservedFor", [])
    assert bench.scheduler.attempts == {"scheduled": 1, "unschedulable": 0, "error": 0}


def test_an_allocation_without_devices_is_reserved() -> None:
    bench = bench_with([])
    put_claim(bench, {"later": 1}, ("first",))
    bench.put("pods", pod_tree("p", **CLAIMED))
    bench.run()
    assert bench.node_of("p") and users(bench) == ["first", "p"]


def interrupt(bench: Bench, allocation: dict[str, Any] | None, users: tuple[str, ...] = ("first",)) -> list[Request]:
    """Have somebody write the claim just before the scheduler's first write to it; returns those writes."""
    submit, seen = bench.transport.submit, []

    def submit_late(request: Request, on_done: Any) -> None:
        if request.resource == "resourceclaims" and request.verb == "patch":
            if not seen:
                put_claim(bench, allocation, users)
            seen.append(request)
        submit(request, on_done)

    bench.transport.submit = submit_late  # type: ignore[method-assign]
    return seen


@pytest.mark.parametrize("known", [("first",), ()], ids=["second consumer", "first consumer"])
def test_a_conflict_costs_another_write_and_no_attempt(known: tuple[str, ...]) -> None:
    bench = bench_with([on("n1")], known, nodeSelector=only("n1"))
    allocation = {"devices": {"results": [on("n1", later=1)]}, "nodeSelector": only("n1")}
    writes = interrupt(bench, allocation, ("first", "other"))
    bench.put("pods", pod_tree("p", **CLAIMED))
    bench.run()
    assert bench.node_of("p") == "n1" and users(bench) == ["first", "other", "p"]
    assert bench.scheduler.attempts["error"] == 0 and len(writes) == 2


def test_pods_that_share_a_claim_do_not_conflict() -> None:
    bench = bench_with([on("n1")], nodeSelector=only("n1"))
    writes = interrupt(bench, {"devices": {"results": [on("n1")]}, "nodeSelector": only("n1")}, ("first", "other"))
    bench.put("pods", pod_tree("p", **CLAIMED))
    bench.run()
    assert bench.node_of("p") == "n1" and len(writes) == 1


@pytest.mark.parametrize("known", [("first",), ()], ids=["second consumer", "first consumer"])
@pytest.mark.parametrize("now", [("first",), ()], ids=["used again", "idle again"])
def test_a_claim_allocated_elsewhere_meanwhile_is_not_reserved(known: tuple[str, ...], now: tuple[str, ...]) -> None:
    bench = bench_with([on("n1")], known, nodeSelector=only("n1"))
    interrupt(bench, {"devices": {"results": [on("n2")]}, "nodeSelector": only("n2")}, now)
    bench.put("pods", pod_tree("p", **CLAIMED))
    bench.run()
    assert bench.node_of("p") == "" and users(bench) == list(now)
    assert bench.message_of("p") == "claim c was allocated elsewhere in the meantime"
    bench.clock.advance_to(bench.clock.now() + 2)
    bench.scheduler.flush()
    bench.run()
    assert bench.node_of("p") == "n2" and users(bench) == [*now, "p"]


def test_a_reservation_for_other_devices_is_not_taken_for_ours() -> None:
    bench = bench_with([on("n1")], (), nodeSelector=only("n1"))
    interrupt(bench, {"devices": {"results": [on("n2")]}, "nodeSelector": only("n2")}, ("p",))
    bench.put("pods", pod_tree("p", **CLAIMED))
    bench.run()
    assert bench.node_of("p") == ""


def test_a_write_that_is_always_overtaken_is_given_up() -> None:
    bench = bench_with([on("n1")], nodeSelector=only("n1"))
    submit, seen = bench.transport.submit, []

    def refuse(request: Request, on_done: Any) -> None:
        if request.verb == "patch" and request.resource == "resourceclaims" and request.subresource:
            seen.append(orjson.loads(request.body))
            body = b'[{"op":"test","path":"/kind","value":"other"}]'
            request = Request("patch", "resourceclaims", "default", "c", body, "status", request.content_type)
        submit(request, on_done)

    bench.transport.submit = refuse  # type: ignore[method-assign]
    bench.put("pods", pod_tree("p", **CLAIMED))
    bench.run()
    assert bench.node_of("p") == "" and [len(body) for body in seen] == [4] * 5
