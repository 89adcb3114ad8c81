"""Nominated node, victims and text of preemption as recorded of kube-scheduler 1.37."""

from golden_world import World, read_golden

from apportion.sched.explain import judge


def test_preemption_is_as_recorded() -> None:
    problems = []
    preempting = 0
    for record in read_golden("preemption"):
        world = World()
        world.put(record["objects"])
        (tree,) = record["pending"]
        found = judge(world.scheduler, world.read_pod(tree)).preemption
        if record["preemption"] == [None]:
            if found is not None:
                problems.append(f"{record['id']}: fits without preemption, found {found}")
            continue
        assert found is not None, record["id"]
        outcome = {"nominated": found.nominated, "victims": found.victims}
        recorded = [{"nominated": o["nominated"], "victims": sorted(o["victims"])} for o in record["preemption"]]
        preempting += bool(found.nominated)
        if outcome not in recorded:
            problems.append(f"{record['id']}: recorded {recorded}, found {outcome}")
        if found.message not in record["messages"]:
            problems.append(f"{record['id']}: recorded {record['messages']}, found {found.message}")
    assert preempting > 40
    assert problems == []
