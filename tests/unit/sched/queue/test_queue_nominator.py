from dataclasses import replace

from queue_rig import Pod

from apportion.sched.queue import Nominator


def names(nominator: Nominator[Pod], node: str) -> list[str]:
    return [pod.name for pod in nominator.for_node(node)]


def test_status_says_where_unless_overridden() -> None:
    nominator: Nominator[Pod] = Nominator()
    pod = Pod("p1", nominated_node_name="n1")
    nominator.add(pod)
    assert names(nominator, "n1") == ["p1"]
    nominator.add(pod, "n2")
    assert (names(nominator, "n1"), names(nominator, "n2")) == ([], ["p1"])
    nominator.add(pod, "")
    assert (nominator.find_node(pod.uid), nominator.node_names()) == (None, [])


def test_pods_stand_in_the_order_of_nomination() -> None:
    nominator: Nominator[Pod] = Nominator()
    for name in ("p2", "p1", "p3"):
        nominator.add(Pod(name), "n1")
    nominator.delete(Pod("p1"))
    nominator.delete(Pod("p1"))
    assert names(nominator, "n1") == ["p2", "p3"]


def test_a_nomination_not_yet_in_the_status_survives_an_update() -> None:
    nominator: Nominator[Pod] = Nominator()
    old, new = Pod("p1"), Pod("p1", priority=7)
    nominator.add(old, "n1")
    nominator.update(old, new)
    assert nominator.for_node("n1") == [new]


def test_a_nomination_that_an_update_removes_is_gone() -> None:
    nominator: Nominator[Pod] = Nominator()
    old = Pod("p1", nominated_node_name="n1")
    nominator.add(old)
    nominator.update(old, replace(old, nominated_node_name=""))
    assert nominator.node_names() == []


def test_an_update_moves_a_nomination() -> None:
    nominator: Nominator[Pod] = Nominator()
    old = Pod("p1", nominated_node_name="n1")
    nominator.add(old)
    nominator.update(old, replace(old, nominated_node_name="n2"))
    assert nominator.node_names() == ["n2"]
