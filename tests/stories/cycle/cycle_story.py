"""Runs a transcript of the scheduling and binding cycle: lines that start with ">" are commands, the rest is output.

Nothing happens by itself: ``cycle`` decides for one pod, ``send`` carries out the commands that wait and returns their
outcomes, ``watch`` delivers what changed.
"""

from typing import Any

from builders import Bench, node_tree, pod_tree

from apportion.client import Request
from apportion.client.transport import OnDone, Response
from apportion.sched.framework import AllocateClaim, Command, EmitEvent, PatchPodCondition

_DRIVER = "d.example.com"


class CycleStory:
    """One scheduler and its API, driven line by line."""

    def __init__(self) -> None:
        self.bench = Bench()
        self._refused: dict[str, int] = {}
        self._submit = self.bench.transport.submit
        self.bench.transport.submit = self._flaky  # type: ignore[method-assign]

    def run(self, text: str) -> str:
        """Return the transcript as it comes out."""
        lines: list[str] = []
        for line in text.splitlines():
            if line.startswith("#"):
                lines.append(line)
            elif line.startswith("> "):
                lines += ["", line] if lines and not lines[-1].startswith("#") else [line]
                verb, *words = line[2:].split()
                lines += getattr(self, f"do_{verb}")(*words)
        return "\n".join(lines) + "\n"

    def _flaky(self, request: Request, on_done: OnDone) -> None:
        kind = request.subresource or request.resource
        code = self._refused.pop(kind, None) if request.verb != "get" else None
        if code is not None:
            text = "the object has been modified" if code == 409 else "not allowed"
            self.bench.transport._answers.append((on_done, Response(code, message=text)))
        else:
            self._submit(request, on_done)

    # ---- the API's side -----------------------------------------------------------------------------------

    def do_node(self, name: str, devices: str = "0") -> list[str]:
        """A node with some devices."""
        self.bench.transport.put("nodes", node_tree(name))
        if int(devices):
            pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
            published = [{"name": f"dev-{i}"} for i in range(int(devices))]
            spec = {"driver": _DRIVER, "nodeName": name, "pool": pool, "devices": published}
            self.bench.transport.put("resourceslices", {"metadata": {"name": f"slice-{name}"}, "spec": spec})
            self.bench.transport.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {}})
        return []

    def do_claim(self, name: str) -> list[str]:
        """A claim for one device."""
        meta = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
        requests = [{"name": "r", "exactly": {"deviceClassName": "any", "count": 1}}]
        tree = {"metadata": meta, "spec": {"devices": {"requests": requests}}, "status": {}}
        self.bench.transport.put("resourceclaims", tree)
        return []

    def do_pod(self, name: str, claim: str = "") -> list[str]:
        """A pending pod, with a claim or without."""
        more: dict[str, Any] = {"resourceClaims": [{"name": "c", "resourceClaimName": claim}]} if claim else {}
        self.bench.transport.put("pods", pod_tree(name, **more))
        return []

    def do_refuse(self, kind: str, code: str = "409") -> list[str]:
        """The next request of this kind (a subresource or a resource) is a conflict, or refused with another code."""
        self._refused[kind] = int(code)
        return []

    def do_watch(self) -> list[str]:
        """Deliver what changed."""
        self.bench.deliver()
        return []

    # ---- the scheduler's side -----------------------------------------------------------------------------

    def do_cycle(self) -> list[str]:
        """Decide for one pod."""
        if not self.bench.scheduler.schedule_one():
            return ["nothing is ready"]
        assumed = sorted(f"{p.key} is assumed on {p.node_name}" for p in self.bench.state.assumed.values())
        return assumed or ["nothing is assumed"]

    def do_send(self) -> list[str]:
        """Carry out what waits, and hand over the outcomes."""
        lines = [_describe(command) for _, command in self.bench.scheduler.outbox]
        self.bench.shell.send()
        answers = self.bench.transport._answers
        while answers:
            on_done, response = answers.popleft()
            on_done(response)
        return lines or ["nothing to send"]

    def do_wait(self, seconds: str) -> list[str]:
        """Let time pass."""
        self.bench.clock.advance_to(self.bench.clock.now() + float(seconds))
        self.bench.scheduler.queue.flush()
        return []

    def do_show(self) -> list[str]:
        """Print where everything is."""
        state, queue = self.bench.state, self.bench.scheduler.queue
        held = {t.driver: t.used for t in state.devices.totals()}
        where = [f"{p.key} on {p.node_name}" for p in sorted(state.pods.values(), key=lambda p: p.key)]
        waiting = {q: queue.pending(q) for q in ("active", "backoff", "unschedulable") if queue.pending(q)}
        return [
            f"pods: {', '.join(where) or 'none'}",
            f"devices held: {held.get(_DRIVER, 0)}",
            f"queue: {waiting or 'empty'}",
        ]


def _describe(command: Command) -> str:
    name = type(command).__name__
    if isinstance(command, EmitEvent):
        return f"{name} {command.reason}: {command.note}"
    if isinstance(command, PatchPodCondition):
        return f"{name} {command.name} {command.reason}: {command.message}"
    if isinstance(command, AllocateClaim):
        devices = ", ".join(r.device for r in command.allocation.devices.results)
        return f"{name} {command.name}: {devices} for {command.consumer.name}"
    node = getattr(command, "node_name", "")
    return f"{name} {command.name}" + (f" to {node}" if node else "")
