"""Lost answers: nobody knows whether the request took effect, and no pod may be made twice for that."""

from collections.abc import Callable
from typing import Any

import pytest
from workload_rig import APPS, Rig, workload

from apportion.client import Request, Response

SETS = f"{APPS}/replicasets"


def lose(rig: Rig, count: int, takes_effect: bool, verb: str = "create") -> None:
    """Have the answers to the next creations or deletions of pods lost."""
    inner = rig.transport._inner
    submit = inner.submit
    left = [count]

    def lossy(request: Request, on_done: Callable[[Response], Any]) -> None:
        if request.verb != verb or request.resource != "pods" or not left[0]:
            submit(request, on_done)
            return
        left[0] -= 1
        lost = Response(504, message="the answer was lost")
        if takes_effect:
            submit(request, lambda _: on_done(lost))
        else:
            rig.ready.append(lambda: on_done(lost))

    inner.submit = lossy  # type: ignore[method-assign]


@pytest.mark.parametrize("takes_effect", [True, False])
@pytest.mark.parametrize("late", ["", "pods"])
def test_a_lost_answer_makes_no_pod_twice(takes_effect: bool, late: str) -> None:
    rig = Rig()
    rig.settle()
    lose(rig, 3, takes_effect)
    rig.transport.late = late
    rig.call("POST", SETS, workload("ReplicaSet", "web", replicas=4))
    rig.run(1)
    rig.transport.release()
    rig.run(1)
    assert len(rig.names()) == 4
    assert not rig.events("SuccessfulDelete")


@pytest.mark.parametrize("takes_effect", [True, False])
def test_a_lost_answer_to_a_deletion_takes_no_other_pod(takes_effect: bool) -> None:
    rig = Rig()
    rig.call("POST", SETS, workload("ReplicaSet", "web", replicas=4))
    rig.settle()
    lose(rig, 2, takes_effect, "delete")
    rig.transport.late = "pods"
    rig.patch(f"{SETS}/web", {"spec": {"replicas": 2}})
    rig.run(1)
    rig.transport.release()
    rig.run(1)
    assert len(rig.names()) == 2 and len(rig.events("SuccessfulCreate")) == 4


def test_a_name_that_somebody_else_has_is_passed_over() -> None:
    rig = Rig()
    probe = Rig()
    probe.call("POST", SETS, workload("ReplicaSet", "web", replicas=1))
    probe.settle()
    (name,) = probe.names()  # the name that the same seed will draw
    spec = {"containers": [{"name": "c", "image": "i"}]}
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    rig.call("POST", "/api/v1/namespaces/default/pods", tree)
    rig.call("POST", SETS, workload("ReplicaSet", "web", replicas=1))
    rig.settle()
    assert len(rig.names()) == 2
