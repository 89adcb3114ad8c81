"""Plays a scenario step by step."""

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import orjson

from apportion.api.feature_gates import FeatureGates
from apportion.base import InputError
from apportion.sched.framework.config import SchedulerConfig, read_config
from apportion.server import ApiResponse
from apportion.sim.play.answers import (
    StepFailedError,
    check_answer,
    compare_answer,
    count_kinds,
    expect_refusal,
)
from apportion.sim.play.expectations import Marks, check_item
from apportion.sim.play.matching import compare
from apportion.sim.play.printing import show
from apportion.sim.play.scenario import (
    Apply,
    Delete,
    Expect,
    Fault,
    Mark,
    Patch,
    Print,
    RawRequest,
    Refused,
    Restart,
    Run,
    Scenario,
    Step,
    Tree,
)
from apportion.sim.play.story import tell
from apportion.sim.play.world import (
    CONTENT_TYPES,
    IDLE_MAX_S,
    World,
    find_resource,
    namespace_of,
    path_of,
)

STORIES_MAX: Final = 10
_MERGE: Final = CONTENT_TYPES["merge"]


@dataclass(frozen=True, slots=True)
class StepResult:
    """What became of one step. ``at_s`` is virtual time when it ended, in seconds since the start."""

    index: int
    line: int
    at_s: float
    kind: str
    text: str
    problems: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    @property
    def is_ok(self) -> bool:
        return not self.problems

    def to_json(self) -> Tree:
        """Return the form of ``--output json``."""
        return {**asdict(self), "ok": self.is_ok}


def merge_gates(scenario: Scenario, more: str) -> FeatureGates:
    """Return the scenario's feature gates with those of the command line added. Raises ConfigError."""
    own = [f"{name}={str(value).lower()}" for name, value in scenario.feature_gates.items()]
    return FeatureGates.parse(",".join([*own, *filter(None, [more])]))


class Player:
    """Plays one scenario. Raises ConfigError when its configuration or a feature gate is wrong."""

    def __init__(
        self, scenario: Scenario, seed: int = 0, gates_text: str = "", has_kubelets: bool | None = None
    ) -> None:
        gates = merge_gates(scenario, gates_text)
        config = SchedulerConfig() if scenario.config is None else read_config(scenario.config, "config")
        kubelets = scenario.kubelets if has_kubelets is None else has_kubelets
        self.world = World(seed, config, gates, kubelets)
        self._scenario = scenario
        self._marks: Marks = {}
        self._do: dict[type, Callable[[Any], tuple[str, list[str]]]] = {
            Apply: self._apply,
            Patch: self._patch,
            Delete: self._delete,
            RawRequest: self._request,
            Run: self._run,
            Fault: self._fault,
            Restart: self._restart,
            Mark: self._mark,
            Print: self._print,
        }

    def play(self) -> Iterator[StepResult]:
        """Yield a result for each step, up to the first that fails."""
        for index, step in enumerate(self._scenario.steps):
            result = self._play(index, step)
            yield result
            if not result.is_ok:
                return

    def _play(self, index: int, step: Step) -> StepResult:
        story: list[str] = []
        problems: list[str] = []
        shown: list[str] = []
        text = ""
        try:
            if isinstance(step.action, Expect):
                text, problems, story = self._expect(step.action)
            else:
                text, shown = self._do[type(step.action)](step.action)
        except InputError as error:
            problems = str(error).splitlines()
        return StepResult(index, step.line, self.world.elapsed_s, step.kind, text, problems, story, shown)

    # ---- what changes -------------------------------------------------------------------------------------

    def _apply(self, step: Apply) -> tuple[str, list[str]]:
        answers = (a for tree in step.objects for a in self._apply_object(tree))
        if step.refused is not None:
            return expect_refusal(step.refused, answers)
        for what, response in answers:
            check_answer(what, response)
        return count_kinds(step.objects), []

    def _apply_object(self, tree: Tree) -> Iterator[tuple[str, ApiResponse]]:
        resource = find_resource(tree["kind"], tree.get("apiVersion", ""))
        meta = tree.get("metadata") or {}
        namespace = namespace_of(resource, meta.get("namespace"))
        what = f"{resource.kind.name} {'/'.join(filter(None, (namespace, meta.get('name', meta.get('generateName')))))}"
        whole = {"apiVersion": resource.api_version, **tree}
        name = str(meta.get("name") or "")
        if name and self.world.find_object(resource, namespace, name) is not None:
            yield what, self.world.call("PATCH", path_of(resource, namespace, name), whole, _MERGE)
        else:
            yield what, self.world.call("POST", path_of(resource, namespace), whole)
        if resource.plural == "nodes" and "status" in tree and name:
            status = {"status": tree["status"]}
            yield what, self.world.call("PATCH", path_of(resource, "", name, "status"), status, _MERGE)

    def _patch(self, step: Patch) -> tuple[str, list[str]]:
        resource = find_resource(step.kind, step.api_version)
        namespace = namespace_of(resource, step.namespace)
        path = path_of(resource, namespace, step.name, step.subresource)
        what = f"{resource.kind.name} {'/'.join(filter(None, (namespace, step.name, step.subresource)))}"
        return self._settle(what, step.refused, self.world.call("PATCH", path, step.patch, CONTENT_TYPES[step.type]))

    def _delete(self, step: Delete) -> tuple[str, list[str]]:
        resource = find_resource(step.kind, step.api_version)
        namespace = namespace_of(resource, step.namespace)
        options = {"gracePeriodSeconds": 0} if step.force else None
        what = f"{resource.kind.name} {'/'.join(filter(None, (namespace, step.name)))}"
        return self._settle(
            what, step.refused, self.world.call("DELETE", path_of(resource, namespace, step.name), options)
        )

    def _settle(self, what: str, refused: Refused | None, response: ApiResponse) -> tuple[str, list[str]]:
        if refused is not None:
            return expect_refusal(refused, [(what, response)])
        check_answer(what, response)
        return what, []

    def _request(self, step: RawRequest) -> tuple[str, list[str]]:
        what = f"{step.method} {step.path}"
        if step.expect.events is not None:
            problems = self._watch(step)
        else:
            response = self.world.call(step.method, step.path, step.body, step.content_type)
            problems = list(compare_answer(step.expect, response))
        if problems:
            raise StepFailedError("\n".join(f"{what}: {p}" for p in problems))
        return what, []

    def _watch(self, step: RawRequest) -> list[str]:
        """Read a watch for as long as its path says, while virtual time passes."""
        timeout = re.search(r"timeoutSeconds=(\d+)", step.path)
        if timeout is None:
            raise StepFailedError(f"{step.path}: a watch needs timeoutSeconds in its path")
        frames = self.world.watch(step.path, float(timeout[1]))
        events = [orjson.loads(frame) for frame in frames]
        return [str(d) for d in compare(step.expect.events, events, path="events")]

    # ---- time, restarts, marks ----------------------------------------------------------------------------

    def _run(self, step: Run) -> tuple[str, list[str]]:
        if step.seconds is not None:
            self.world.run(step.seconds)
            return f"{step.seconds:g}s", []
        if not self.world.run_idle():
            busy = "\n".join(self.world.plane.list_busy())
            raise StepFailedError(f"not idle after {IDLE_MAX_S:g}s of virtual time; what keeps going:\n{busy}")
        return "idle", []

    def _restart(self, step: Restart) -> tuple[str, list[str]]:
        self.world.restart(step.component)
        return step.component, []

    def _fault(self, step: Fault) -> tuple[str, list[str]]:
        self.world.faults.add(step, self.world.plane.scheduler)
        on = step.on
        where = f"{on.plugin} at {on.point}" if on.plugin else " ".join(filter(None, (on.verb, on.kind, on.name)))
        return f"{where}: {step.answer} x{step.times}", []

    def _mark(self, step: Mark) -> tuple[str, list[str]]:
        self._marks[step.name] = self.world.versions()
        return step.name, []

    # ---- what is looked at --------------------------------------------------------------------------------

    def _expect(self, step: Expect) -> tuple[str, list[str], list[str]]:
        findings = [check_item(self.world, item, self._marks) for item in step.items]
        problems = [p for f in findings for p in f.problems]
        pods = dict.fromkeys(p for f in findings if f.problems for p in f.pods)
        story = [line for pod in list(pods)[:STORIES_MAX] for line in tell(self.world, pod)]
        held = sum(not f.problems for f in findings)
        return f"{held} of {len(findings)} hold", problems, story

    def _print(self, step: Print) -> tuple[str, list[str]]:
        return ", ".join(step.what), [line for what in step.what for line in show(self.world, what)]
