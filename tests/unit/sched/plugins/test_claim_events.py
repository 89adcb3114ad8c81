"""Which changes of claims and pods bring back a pod that DynamicResources rejected."""

from typing import Any

import msgspec
import pytest
from builders import Bench, node_tree, pod_tree

from apportion.sched.plugins.claim_events import ClaimEvents
from apportion.sched.queue import Hint

USING = {"resourceClaims": [{"name": "g", "resourceClaimName": "c"}]}
ALLOCATED = {"allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "d0"}]}}}


def make() -> tuple[Bench, ClaimEvents]:
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    return bench, ClaimEvents(bench.state, "DynamicResources")


def read(bench: Bench, name: str, uid: str = "", **more: Any) -> Any:
    meta = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", **more.pop("meta", {})}
    return bench.state.claims.read(msgspec.json.encode({"metadata": meta, "spec": {}, "status": {}, **more}))


def hint(case: str) -> tuple[Hint, tuple[str, ...] | None]:
    bench, events = make()
    pod = bench.state.reader.read_tree(pod_tree("p", **USING))
    plain, other = read(bench, "c"), read(bench, "other")
    owned = {"ownerReferences": [{"kind": "Pod", "name": "p", "uid": "uid-default-p", "controller": True}]}
    extended = read(
        bench, "x", meta={**owned, "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}}
    )
    old, new = {
        "added": (None, plain),
        "deleted": (plain, None),
        "of somebody else": (None, other),
        "made anew": (None, read(bench, "c", "uid-new")),
        "status": (plain, read(bench, "c", status=ALLOCATED)),
        "finalizer": (plain, read(bench, "c", meta={"finalizers": ["x"]})),
        "other deallocated": (read(bench, "other", status=ALLOCATED), other),
        "other deleted with devices": (read(bench, "other", status=ALLOCATED), None),
        "extended deleted": (extended, None),
        "no claims": ("text", 5),
    }[case]
    bench.state.claims.apply(plain)
    return events._hint_claim(pod, old, new), events._narrow_claim(old, new)


@pytest.mark.parametrize(
    ("case", "wanted", "narrowed"),
    [
        ("added", Hint.QUEUE, ("default/c",)),
        ("deleted", Hint.SKIP, ()),
        ("of somebody else", Hint.SKIP, ("default/other",)),
        ("made anew", Hint.SKIP, ("default/c",)),
        ("status", Hint.QUEUE, ("default/c",)),
        ("finalizer", Hint.SKIP, ("default/c",)),
        ("other deallocated", Hint.QUEUE, ("devices", "default/other")),
        ("other deleted with devices", Hint.QUEUE, ("devices",)),
        ("extended deleted", Hint.QUEUE, ("extended/uid-default-p",)),
        ("no claims", Hint.SKIP, ()),
    ],
)
def test_a_claim_changes(case: str, wanted: Hint, narrowed: tuple[str, ...]) -> None:
    assert hint(case) == (wanted, narrowed)


@pytest.mark.parametrize(("known", "wanted"), [((), Hint.SKIP), (("c",), Hint.SKIP), (("c", "e"), Hint.QUEUE)])
def test_a_pod_gets_its_claims(known: tuple[str, ...], wanted: Hint) -> None:
    bench, events = make()
    both = [{"name": "g", "resourceClaimName": "c"}, {"name": "h", "resourceClaimName": "e"}]
    pod = bench.state.reader.read_tree(pod_tree("p", resourceClaims=both))
    for name in known:
        bench.state.claims.apply(read(bench, name))
    assert events._hint_pod(pod, None, pod) is wanted
    assert events._hint_pod(pod, None, "no pod") is wanted


def test_what_another_pod_gets_is_not_for_this_one() -> None:
    bench, events = make()
    bench.state.claims.apply(read(bench, "c"))
    pod, other = (bench.state.reader.read_tree(pod_tree(name, **USING)) for name in ("p", "q"))
    assert events._hint_pod(pod, None, pod) is Hint.QUEUE
    assert events._hint_pod(pod, None, other) is Hint.SKIP


def test_free_devices_are_of_interest_once_the_claims_are_there() -> None:
    bench, events = make()
    pod = bench.state.reader.read_tree(pod_tree("p", resourceClaims=[{"name": "g", "resourceClaimName": "c"}]))
    assert events.interests(pod) == ("default/c",)
    bench.state.claims.apply(read(bench, "c"))
    assert events.interests(pod) == ("default/c", "devices")
