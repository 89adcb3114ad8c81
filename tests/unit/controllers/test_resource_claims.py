from typing import Any

import orjson
import pytest

from apportion.base import Rng, VirtualClock
from apportion.client import MemoryTransport, OnDone, Request, Response
from apportion.controllers import ResourceClaimController

Tree = dict[str, Any]
FINALIZER = "resource.kubernetes.io/delete-protection"
ENTRY = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
SPEC: Tree = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "count": 1}}]}}


class Rig:
    """A controller over objects in memory."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.api = MemoryTransport()
        self.controller = ResourceClaimController(self.api, self.clock, Rng(0))
        self.controller.start()

    def put(self, resource: str, *trees: Tree) -> None:
        for tree in trees:
            self.api.put(resource, tree)
        self.run()

    def run(self) -> None:
        """Work until nothing is due."""
        while self.api.deliver() or self.controller.work():
            pass

    def wait(self, seconds: float = 1) -> None:
        self.clock.advance_to(self.clock.now() + seconds)
        self.run()

    def claims(self) -> list[Tree]:
        return list(self.api.trees("resourceclaims"))

    def pod(self, name: str = "p") -> Tree:
        tree = self.api.find("pods", "d", name)
        assert tree is not None
        return tree


def template(name: str = "t") -> Tree:
    meta = {"labels": {"l": "v"}, "annotations": {"a": "b"}}
    return {"metadata": {"name": name, "namespace": "d"}, "spec": {"metadata": meta, "spec": SPEC}}


def pod(name: str = "p", uid: str = "u1", **more: Any) -> Tree:
    meta = {"name": name, "namespace": "d", "uid": uid, **more.pop("meta", {})}
    status = more.pop("status", {"phase": "Pending"})
    return {"kind": "Pod", "metadata": meta, "spec": {"resourceClaims": ENTRY, **more}, "status": status}


def claim(name: str = "c", pods: tuple[str, ...] = (), allocated: bool = True, **meta: Any) -> Tree:
    status: Tree = {"allocation": {"devices": {"results": []}}} if allocated else {}
    if pods:
        status["reservedFor"] = [{"resource": "pods", "name": n, "uid": f"u-{n}"} for n in pods]
    finalizers = [FINALIZER] if allocated else []
    return {
        "metadata": {"name": name, "namespace": "d", "uid": f"claim-{name}", "finalizers": finalizers, **meta},
        "spec": SPEC,
        "status": status,
    }


def test_a_claim_is_made_from_the_template_and_recorded() -> None:
    rig = Rig()
    rig.put("resourceclaimtemplates", template())
    rig.put("pods", pod())
    (made,) = rig.claims()
    meta = made["metadata"]
    assert meta["generateName"] == "p-gpu-" and meta["name"].startswith("p-gpu-") and len(meta["name"]) == 11
    assert meta["annotations"] == {"a": "b", "resource.kubernetes.io/pod-claim-name": "gpu"}
    assert meta["labels"] == {"l": "v"}
    (owner,) = meta["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Pod", "u1", True)
    assert made["spec"] == SPEC
    assert rig.pod()["status"]["resourceClaimStatuses"] == [{"name": "gpu", "resourceClaimName": meta["name"]}]
    rig.run()
    assert len(rig.claims()) == 1


def test_a_template_that_comes_later_is_used_then() -> None:
    """kubernetes#138487."""
    rig = Rig()
    rig.put("pods", pod())
    assert rig.claims() == []
    (event,) = rig.api.trees("events")
    assert event["reason"] == "FailedResourceClaimCreation"
    missing = 'resourceclaimtemplate.resource.k8s.io "t" not found'
    assert event["message"] == f'PodResourceClaim gpu: resource claim template "t": {missing}'
    rig.put("resourceclaimtemplates", template())
    assert len(rig.claims()) == 1


def test_an_owned_claim_is_adopted_instead_of_making_another() -> None:
    rig = Rig()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1", "controller": True}
    annotations = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    mine = claim("mine", allocated=False, ownerReferences=[owner], annotations=annotations)
    rig.put("resourceclaimtemplates", template())
    rig.put("resourceclaims", mine)
    rig.put("pods", pod())
    assert [c["metadata"]["name"] for c in rig.claims()] == ["mine"]
    assert rig.pod()["status"]["resourceClaimStatuses"][0]["resourceClaimName"] == "mine"


def test_two_looks_before_the_watch_catches_up_make_one_claim() -> None:
    """kubernetes#117351: the claim that was just made must be known at once."""
    rig = Rig()
    rig.put("resourceclaimtemplates", template())
    rig.api.put("pods", pod())
    while rig.api.deliver():
        pass
    controller = rig.controller
    assert controller.work()
    answers = rig.api._answers
    while answers:  # only answers, no watch events
        on_done, response = answers.popleft()
        on_done(response)
    controller.queue.add(("pod", "d/p"))
    assert controller.work()
    rig.run()
    assert len(rig.claims()) == 1


def test_a_done_pod_loses_its_reservation_and_its_claim() -> None:
    """kubernetes#113890: at completion, not at deletion of the pod."""
    rig = Rig()
    rig.put("resourceclaimtemplates", template())
    rig.put("pods", pod())
    made = rig.claims()[0]
    made["status"] = {
        "allocation": {"devices": {"results": []}},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u1"}],
    }
    made["metadata"]["finalizers"] = [FINALIZER]
    rig.put("resourceclaims", made)
    assert len(rig.claims()) == 1, "a claim in use stays as it is"
    done = rig.pod()
    done["status"]["phase"] = "Succeeded"
    rig.put("pods", done)
    assert rig.claims() == []


def test_the_last_consumer_frees_the_devices_and_others_keep_them() -> None:
    rig = Rig()
    users = [pod(n, f"u-{n}", resourceClaims=[{"name": "x", "resourceClaimName": "c"}]) for n in ("a", "b")]
    rig.put("pods", *users)
    rig.put("resourceclaims", claim("c", ("a", "b")))
    rig.api.remove("pods", "d", "a")
    rig.run()
    (found,) = rig.claims()
    assert [r["name"] for r in found["status"]["reservedFor"]] == ["b"]
    assert found["status"]["allocation"] and found["metadata"]["finalizers"] == [FINALIZER]
    rig.api.remove("pods", "d", "b")
    rig.run()
    (found,) = rig.claims()
    assert found["status"] == {} and not found["metadata"].get("finalizers")


def test_the_finalizer_of_a_claim_that_is_about_to_be_allocated_stays() -> None:
    """The scheduler adds it in a write of its own, before the allocation."""
    rig = Rig()
    rig.put("resourceclaims", claim(allocated=False, finalizers=[FINALIZER]))
    (kept,) = rig.claims()
    assert kept["metadata"]["finalizers"] == [FINALIZER]


def test_a_deleted_claim_with_a_stale_reservation_goes_after_a_restart() -> None:
    """kubernetes#132334: reserved for a pod that is gone, being deleted, finalizer still there."""
    rig = Rig()
    rig.api.put("resourceclaims", claim("c", ("gone",), deletionTimestamp="2026-01-01T00:00:00Z"))
    rig.run()
    assert rig.claims() == []


def test_a_reservation_of_a_kind_we_do_not_know_is_left_alone() -> None:
    rig = Rig()
    foreign = claim("c", ("gone",))
    foreign["status"]["reservedFor"].append({"apiGroup": "example.com", "resource": "things", "name": "t", "uid": "x"})
    rig.put("resourceclaims", foreign)
    (found,) = rig.claims()
    assert [r["uid"] for r in found["status"]["reservedFor"]] == ["x"]
    assert found["status"]["allocation"] is not None


def test_a_pod_bound_by_somebody_else_gets_its_reservation() -> None:
    rig = Rig()
    rig.put("resourceclaims", claim("c", ("other",)))
    rig.put("resourceclaims", {**claim("c"), "status": {"allocation": {"devices": {"results": []}}}})
    rig.put("pods", pod("a", "u-a", nodeName="n", resourceClaims=[{"name": "x", "resourceClaimName": "c"}]))
    (found,) = rig.claims()
    assert [r["name"] for r in found["status"]["reservedFor"]] == ["a"]


def test_a_replaced_pod_loses_the_old_ones_claim() -> None:
    rig = Rig()
    rig.put("resourceclaimtemplates", template())
    rig.put("pods", pod())
    first = rig.claims()[0]["metadata"]["name"]
    rig.put("pods", pod(uid="u2"))
    rig.wait()
    names = [c["metadata"]["name"] for c in rig.claims()]
    assert first not in names and len(names) == 1


def test_a_conflict_is_tried_again() -> None:
    rig = Rig()
    rig.put("pods", pod("a", "u-a", resourceClaims=[{"name": "x", "resourceClaimName": "c"}]))
    rig.put("resourceclaims", claim("c", ("a",)))
    rig.api.remove("pods", "d", "a")
    while rig.api.deliver():
        pass
    body = orjson.dumps({"metadata": {"labels": {"touched": "yes"}}})
    patch = Request("patch", "resourceclaims", "d", "c", body, content_type="application/merge-patch+json")
    rig.api.submit(patch, lambda response: None)  # the controller has not seen this version
    rig.controller.work()
    rig.run()
    rig.wait()
    (found,) = rig.claims()
    assert found["status"] == {} and found["metadata"]["labels"] == {"touched": "yes"}


def test_a_claim_whose_answer_was_lost_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    submit, lost = rig.api.submit, [True, True]

    def lossy(request: Request, on_done: OnDone) -> None:
        is_lost = request.verb == "create" and request.resource == "resourceclaims" and bool(lost)
        if is_lost:
            lost.pop()
        submit(request, lambda r: on_done(Response(503, message="no answer") if is_lost else r))

    monkeypatch.setattr(rig.api, "submit", lossy)
    rig.api._watches["resourceclaims"].clear()  # so that only the name can tell
    rig.put("resourceclaimtemplates", template())
    rig.put("pods", pod())
    for _ in range(4):
        rig.wait()
    (made,) = rig.claims()
    assert rig.pod()["status"]["resourceClaimStatuses"] == [
        {"name": "gpu", "resourceClaimName": made["metadata"]["name"]}
    ]
    assert not lost and not rig.controller._open_names


def test_a_recorded_claim_that_the_watch_has_not_brought_is_asked_for() -> None:
    rig = Rig()
    rig.put("resourceclaimtemplates", template())
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1", "controller": True}
    rig.api._watches["resourceclaims"].clear()
    rig.put("resourceclaims", claim("made", ownerReferences=[owner]))
    recorded = [{"name": "gpu", "resourceClaimName": "made"}]
    rig.put("pods", pod(status={"phase": "Pending", "resourceClaimStatuses": recorded}))
    assert [c["metadata"]["name"] for c in rig.claims()] == ["made"]
