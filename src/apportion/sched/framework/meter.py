"""What is measured of single plugins: how often each is asked, and of every tenth attempt how long each takes.

Behaviour: pkg/scheduler/framework/metrics upstream, with the same names and buckets. A plugin here answers for all
nodes at once, mostly from what it has kept: its Filter and Score times are those of bringing its column up to date.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from apportion.base.metrics import Histogram, Labels, Reading, exponential
from apportion.sched.framework.diagnosis import PRE_FILTER
from apportion.sched.framework.plan import Plan
from apportion.sched.framework.profile import Profile
from apportion.sched.framework.status import Status

SAMPLED: Final = 10  # one attempt in so many
_PLUGIN_S: Final = exponential(0.00001, 1.5, 20)
_SUCCESS: Final = "Success"
_Names: TypeAlias = tuple[str, ...]


class PluginMeter:
    """``points_s`` is the histogram of whole extension points: labels extension_point, status, profile."""

    def __init__(self, perf: Callable[[], float], points_s: Histogram) -> None:
        self._perf = perf
        self._points_s = points_s
        self._attempts = 0
        self._asked: Tally[tuple[str, _Names, _Names]] = Tally()  # by profile, filters and scores of a plan
        self._profiles: dict[str, Profile] = {}
        self.plugin_s = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            "How long single plugins took, in one attempt of ten.",
            _PLUGIN_S,
            ("plugin", "extension_point", "status"),
        )
        self.evaluations = Reading(
            "scheduler_plugin_evaluation_total",
            "Attempts in which a plugin had a say.",
            ("plugin", "extension_point", "profile"),
            self._count_evaluations,
            "counter",
        )

    @property
    def is_sampled(self) -> bool:
        """Whether the plugins of this attempt are timed one by one."""
        return self._attempts % SAMPLED == 1

    def now(self) -> float:
        """Return a time in seconds of which only differences mean something."""
        return self._perf()

    def begin(self) -> None:
        """An attempt begins."""
        self._attempts += 1

    def note(self, plugin: str, point: str, begun_s: float, status: str = _SUCCESS) -> None:
        """A plugin has answered."""
        self.plugin_s.observe(self._perf() - begun_s, (plugin, point, status))

    def answered(self, plugin: str, begun_s: float, status: Status | None) -> None:
        """A plugin has answered in PreFilter."""
        self.note(plugin, "PreFilter", begun_s, _SUCCESS if status is None else status.code.text)

    def planned(self, plan: Plan, profile: Profile, begun_s: float) -> None:
        """All plugins were asked what they think of the pod, before any node was looked at."""
        status = _SUCCESS if plan.rejected is None else plan.rejected.code.text
        self._points_s.observe(self._perf() - begun_s, ("PreFilter", status, profile.scheduler_name))
        self._profiles[profile.scheduler_name] = profile
        filters = tuple([name for _, name, _ in plan.filters if name != PRE_FILTER])
        scores = tuple([name for _, name, _, _ in plan.scores]) if plan.rejected is None else ()
        self._asked[profile.scheduler_name, filters, scores] += 1

    def judge(self, plan: Plan, profile: str) -> None:
        """Bring the columns of a plan up to date, and note how long that took."""
        begun_s = self._perf()
        self._refresh("Filter", ((name, column.refresh) for _, name, column in plan.filters))
        filtered_s = self._perf()
        self._points_s.observe(filtered_s - begun_s, ("Filter", _SUCCESS, profile))
        self._refresh("Score", ((name, column.refresh) for _, name, _, column in plan.scores))
        self._points_s.observe(self._perf() - filtered_s, ("Score", _SUCCESS, profile))

    def _refresh(self, point: str, columns: Iterable[tuple[str, Callable[[], None]]]) -> None:
        for name, refresh in columns:
            if not self.is_sampled or name == PRE_FILTER:
                refresh()
                continue
            begun_s = self._perf()
            refresh()
            self.note(name, point, begun_s)

    def _count_evaluations(self) -> Mapping[Labels, float]:
        """As upstream, PreFilter and PreScore ask every plugin that has them; Filter and Score those with a say."""
        counts: Tally[Labels] = Tally()
        for (name, filters, scores), count in self._asked.items():
            profile = self._profiles[name]
            said: list[tuple[str, Iterable[str]]] = [
                ("PreFilter", [p.name for p in profile.filters]),
                ("Filter", filters),
                ("PreScore", [p.name for p, _ in profile.scores] if scores else ()),
                ("Score", scores),
            ]
            for point, plugins in said:
                for plugin in plugins:
                    counts[plugin, point, name] += count
        return counts
