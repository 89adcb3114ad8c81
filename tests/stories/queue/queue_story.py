"""Plays a transcript against the queue: each command is answered by what it printed and by what moved.

A command is a line that starts with ``>``; its answer follows up to the next blank line. ``#`` starts a comment.
A hint function says QUEUE for the pods named by ``for=`` of the event (``for=all``: for every pod).
"""

from collections.abc import Callable
from dataclasses import dataclass

from apportion.base import VirtualClock
from apportion.sched.queue import (
    TARGET_POD,
    ActionType,
    ClusterEvent,
    Hint,
    QueueConfig,
    QueuedPod,
    Registration,
    SchedulingQueue,
)

START_S = 1_000_000_000.0


@dataclass(frozen=True)
class StoryPod:
    name: str
    priority: int = 0
    nominated_node_name: str = ""
    namespace: str = "default"
    scheduler_name: str = "default-scheduler"

    @property
    def uid(self) -> str:
        return f"uid-{self.name}"

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def hint_for_named(pod: StoryPod, _old: object, named: object) -> Hint:
    return Hint.QUEUE if isinstance(named, frozenset) and named & {pod.name, "all"} else Hint.SKIP


class Story:
    def __init__(self) -> None:
        self.clock = VirtualClock(START_S)
        self.registrations: list[Registration] = []
        self.options: dict[str, str] = {}
        self.gates: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.pods: dict[str, StoryPod] = {}
        self.flying: dict[str, QueuedPod[StoryPod]] = {}
        self.queue: SchedulingQueue[StoryPod] | None = None
        self.output: list[str] = []

    def play(self, text: str) -> str:
        """Return the transcript with the answers that were really given."""
        lines: list[str] = []
        for line in text.splitlines():
            if line.startswith(">"):
                lines += [line, *self.answer(line[1:].split()), ""]
            elif line.startswith("#"):
                lines += [line]
        return "\n".join(lines).rstrip("\n") + "\n"

    def answer(self, words: list[str]) -> list[str]:
        command, args = words[0], [w for w in words[1:] if "=" not in w]
        options = dict(w.split("=", 1) for w in words[1:] if "=" in w)
        if command in ("register", "config"):
            getattr(self, f"do_{command}")(args, options)
            return []
        queue = self.get_queue()
        before, counted = self.places(queue), queue.incoming()
        self.output = []
        do: Callable[[list[str], dict[str, str]], None] = getattr(self, f"do_{command}")
        do(args, options)
        labels = [label for (where, label), n in queue.incoming().items() if n > counted.get((where, label), 0)]
        return self.output + self.changes(before, self.places(queue), labels)

    def get_queue(self) -> SchedulingQueue[StoryPod]:
        if self.queue is None:
            config = QueueConfig(pop_from_backoff=self.options.get("pop_from_backoff") != "off")
            registered = {"default-scheduler": self.registrations}
            self.queue = SchedulingQueue(self.clock, registered, lambda pod: self.gates.get(pod.name), config)
        return self.queue

    def places(self, queue: SchedulingQueue[StoryPod]) -> dict[str, str]:
        return {str(entry["pod"]).removeprefix("default/"): str(entry["where"]) for entry in queue.dump()}

    def changes(self, before: dict[str, str], after: dict[str, str], labels: list[str]) -> list[str]:
        cause = f" ({', '.join(labels)})" if labels else ""
        return [
            f"{name}: {before.get(name, 'outside')} -> {after.get(name, 'outside')}{cause}"
            for name in sorted(before | after)
            if before.get(name) != after.get(name)
        ]

    # ---- commands ------------------------------------------------------------------------------------------

    def do_config(self, args: list[str], options: dict[str, str]) -> None:
        assert not args
        self.options = options

    def do_register(self, args: list[str], options: dict[str, str]) -> None:
        plugin, resource, actions = args
        event = ClusterEvent(resource, self.actions(actions))
        self.registrations.append(Registration(plugin, event, hint_for_named if "hint" in options else None))

    def do_add(self, args: list[str], options: dict[str, str]) -> None:
        pod = StoryPod(args[0], int(options.get("priority", 0)), options.get("nominated", ""))
        self.pods[pod.name] = pod
        self.get_queue().add(pod)

    def do_gate(self, args: list[str], options: dict[str, str]) -> None:
        assert not options
        name, plugin, *reasons = args
        self.gates[name] = (plugin, tuple(reasons))

    def do_ungate(self, args: list[str], options: dict[str, str]) -> None:
        assert not options
        del self.gates[args[0]]

    def do_pop(self, args: list[str], options: dict[str, str]) -> None:
        assert not (args or options)
        queued = self.get_queue().pop()
        if queued is None:
            self.output.append("nothing is ready")
            return
        self.flying[queued.pod.name] = queued
        self.output.append(f"{queued.pod.name}, attempt {queued.attempts}")

    def do_fail(self, args: list[str], options: dict[str, str]) -> None:
        name, *plugins = args
        pending = options["pending"].split(",") if "pending" in options else []
        if not self.get_queue().add_unschedulable(self.flying.pop(name), plugins, pending):
            self.output.append("refused: it is queued already")

    def do_done(self, args: list[str], options: dict[str, str]) -> None:
        assert not options
        self.get_queue().done(self.pods[args[0]].uid)

    def do_event(self, args: list[str], options: dict[str, str]) -> None:
        resource, actions = args
        event = ClusterEvent(resource, self.actions(actions))
        if not self.get_queue().is_of_interest(event):
            self.output.append("of no interest")
        self.get_queue().move_all(event, None, frozenset(options.get("for", "").split(",")))

    def do_update(self, args: list[str], options: dict[str, str]) -> None:
        name, actions = args
        old = self.pods[name]
        self.pods[name] = StoryPod(name, int(options.get("priority", old.priority)))
        event = ClusterEvent(TARGET_POD, self.actions(actions))
        self.get_queue().update(old, self.pods[name], [event])

    def do_delete(self, args: list[str], options: dict[str, str]) -> None:
        assert not options
        self.get_queue().delete(self.pods[args[0]])

    def do_activate(self, args: list[str], options: dict[str, str]) -> None:
        assert not options
        self.get_queue().activate([self.pods[name] for name in args])

    def do_to(self, args: list[str], options: dict[str, str]) -> None:
        assert not options
        self.clock.advance_to(START_S + float(args[0].removesuffix("s")))

    def do_flush(self, args: list[str], options: dict[str, str]) -> None:
        assert not (args or options)
        self.get_queue().flush()

    def do_wakeup(self, args: list[str], options: dict[str, str]) -> None:
        assert not (args or options)
        wakeup_s = self.get_queue().next_wakeup_s()
        self.output.append("never" if wakeup_s is None else f"at {wakeup_s - START_S:g}s")

    def do_show(self, args: list[str], options: dict[str, str]) -> None:
        assert not (args or options)
        for entry in self.get_queue().dump():
            entry["since_s"] = float(str(entry["since_s"])) - START_S
            shown = (f"{key}={value}" for key, value in entry.items() if key != "uid" and value)
            self.output.append(" ".join(shown))
        self.output += [f"{label} x{n}" for label, n in self.get_queue().in_flight_events().items()]

    @staticmethod
    def actions(text: str) -> ActionType:
        combined = ActionType.NONE
        for name in text.split("|"):
            combined |= ActionType[name]
        return combined
