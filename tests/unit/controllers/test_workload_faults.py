"""All workload controllers at once while answers are lost, watches are late, clients interfere and controllers restart.

Whatever happens, everything ends as the specs say, and no job runs a pod more than it has to.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import orjson
import pytest
from workload_rig import APPS, PODS, Rig, Tree, workload

from apportion.base import Rng
from apportion.client import Request, Response
from apportion.server import ApiRequest, ApiResponse

JOBS, NODES = "/apis/batch/v1/namespaces/default/jobs", "/api/v1/nodes"
COMPLETIONS: Final = {"plain": 7, "indexed": 6}
ROLLED: Final = ("deployments/web", "statefulsets/db", "daemonsets/agent")
LATE: Final = ("pods", "replicasets", "jobs", "statefulsets", "controllerrevisions", "persistentvolumeclaims")
STEPS: Final = 250


class World:
    def __init__(self, seed: int) -> None:
        self.rng = Rng(seed)
        self.rig = Rig()
        self.is_faulty = True
        self.image = "img:1"
        self.created: Counter[str] = Counter()  # pods by the name of their owner
        self._count_creations()
        self._lose_answers()
        self.rig.kubelet = self.run_pod
        for i in range(3):
            self.rig.call("POST", NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}"}})
            self.rig.patch(f"{NODES}/n{i}", {"spec": {"taints": None}})
        self._create_workloads()

    def _create_workloads(self) -> None:
        storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        claims = [{"metadata": {"name": "data"}, "spec": storage}]
        rig = self.rig
        rig.call("POST", f"{APPS}/deployments", workload("Deployment", "web", replicas=4))
        stateful = workload("StatefulSet", "db", replicas=3, serviceName="db", volumeClaimTemplates=claims)
        rig.call("POST", f"{APPS}/statefulsets", stateful)
        rig.call("POST", f"{APPS}/daemonsets", workload("DaemonSet", "agent"))
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        for name, mode in (("plain", "NonIndexed"), ("indexed", "Indexed")):
            spec = {"completions": COMPLETIONS[name], "parallelism": 3, "completionMode": mode, "template": template}
            rig.call("POST", JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec})

    def _count_creations(self) -> None:
        handle = self.rig.server.handle

        def counted(request: ApiRequest) -> ApiResponse:
            response = handle(request)
            if request.method == "POST" and request.path == PODS and response.code == 201:
                self.created[orjson.loads(response.body)["metadata"]["ownerReferences"][0]["name"]] += 1
            return response

        self.rig.server.handle = counted  # type: ignore[method-assign]

    def _lose_answers(self) -> None:
        submit = self.rig.transport._inner.submit

        def lossy(request: Request, on_done: Callable[[Response], Any]) -> None:
            roll = self.rng.below(100) if self.is_faulty else 100
            if roll < 4:
                submit(request, lambda _: on_done(Response(504, message="it took effect, and nobody knows")))
            elif roll < 8:
                self.rig.ready.append(lambda: on_done(Response(503, message="it never arrived")))
            elif roll < 10 and request.verb == "patch":
                self.rig.ready.append(lambda: on_done(Response(409, message="somebody else was faster")))
            else:
                submit(request, on_done)

        self.rig.transport._inner.submit = lossy  # type: ignore[method-assign]

    def run_pod(self, pod: Tree) -> Tree | None:
        if pod["status"]["phase"] in ("Succeeded", "Failed") or pod["metadata"].get("deletionTimestamp"):
            return None
        if not pod["status"].get("conditions"):
            return self.rig.ready_status()
        is_job = pod["metadata"]["ownerReferences"][0]["kind"] == "Job"
        return self.rig.ready_status("Succeeded", ready=False) if is_job and self.rng.below(3) == 0 else None

    def disturb(self) -> None:
        for _ in range(self.rng.below(12)):
            self.rig.step()
        roll = self.rng.below(60)
        if roll < 30:
            self.rig._run_kubelet()
        elif roll < 33:
            self.rig.transport.late = self.rig.transport.late or LATE[self.rng.below(len(LATE))]
        elif roll < 40:
            self.rig.transport.release()
        elif roll < 43:
            self.rig.restart()
            self._lose_answers()
        elif roll < 46:
            self.rig.patch(f"{APPS}/deployments/web", {"spec": {"replicas": 1 + self.rng.below(6)}})
        elif roll < 48:
            self.rig.patch(f"{APPS}/statefulsets/db", {"spec": {"replicas": self.rng.below(5)}})
        elif roll < 50:
            self.image = f"img:{self.rng.below(4)}"
            spec = {"spec": {"containers": [{"name": "c", "image": self.image}]}}
            for path in ROLLED:
                self.rig.patch(f"{APPS}/{path}", {"spec": {"template": spec}})
        else:
            self.rig.clock.advance_to(self.rig.clock.now() + 0.02)

    def calm(self) -> None:
        self.is_faulty = False
        self.rig.transport.release()
        for _ in range(20):
            self.rig.run(30)

    def images(self, app: str) -> list[str]:
        return [p["spec"]["containers"][0]["image"] for p in self.rig.pods(app=app)]


@pytest.mark.parametrize("seed", range(4))
def test_everything_ends_as_the_specs_say(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.disturb()
    world.calm()
    replicas = {path: world.rig.get(f"{APPS}/{path}")["spec"].get("replicas") for path in ROLLED}
    assert world.images("web") == [world.image] * replicas["deployments/web"]
    assert world.images("db") == [world.image] * replicas["statefulsets/db"]
    assert world.images("agent") == [world.image] * 3
    names = sorted(p["metadata"]["name"] for p in world.rig.pods(app="db"))
    assert names == [f"db-{i}" for i in range(len(names))]
    for name, completions in COMPLETIONS.items():
        status = world.rig.get(f"{JOBS}/{name}")["status"]
        assert (status["succeeded"], status.get("failed"), world.created[name]) == (completions, None, completions)
        assert [c["type"] for c in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
        assert not [p for p in world.rig.pods(**{"job-name": name}) if p["metadata"].get("finalizers")]
