"""Which pods go first when a workload has too many.

Behaviour: ActivePodsWithRanks in pkg/controller/controller_utils.go: not assigned, pending, not ready, cheap to delete,
beside others of its kind, ready for a shorter time, restarted more often, younger.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cmp_to_key
from typing import Final

from apportion.controllers.times import parse_time
from apportion.controllers.workload_objects import Pod

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def choose_pods_to_delete(pods: Sequence[Pod], related: Sequence[Pod], count: int, now_s: float) -> list[Pod]:
    """Return the ``count`` pods to delete; ``related`` are all pods of the same kind, by which nodes are crowded."""
    if count >= len(pods):
        return list(pods)
    crowd = Counter(p.spec.node_name for p in related if p.is_active and p.spec.node_name)
    return sort_by_rank(pods, crowd, now_s)[:count]


def sort_by_rank(pods: Sequence[Pod], crowd: Counter[str], now_s: float) -> list[Pod]:
    """Return the pods, those that should go first in front; ``crowd`` counts the pods of the kind on each node."""

    def compare(a: Pod, b: Pod) -> int:
        left, right = (_get_first_key(p, crowd) for p in (a, b))
        if left != right:
            return -1 if left < right else 1
        if a.is_ready and b.is_ready and a.ready_since != b.ready_since:
            return _compare_ages(a, b, a.ready_since, b.ready_since, now_s)
        if a.restarts != b.restarts:
            return b.restarts - a.restarts
        made = [p.metadata.creation_timestamp or "" for p in (a, b)]
        if made[0] != made[1]:
            return _compare_ages(a, b, made[0], made[1], now_s)
        return -1 if a.uid < b.uid else 1

    return sorted(pods, key=cmp_to_key(compare))


def _get_first_key(pod: Pod, crowd: Counter[str]) -> tuple[bool, int, bool, int, int]:
    node = pod.spec.node_name
    return bool(node), _PHASES.get(pod.phase, 0), pod.is_ready, pod.deletion_cost, -crowd[node]


def _compare_ages(a: Pod, b: Pod, left: str, right: str, now_s: float) -> int:
    """Younger goes first; ages of the same magnitude count as equal, so that rolling updates stay spread by age."""
    if not left or not right:
        return -1 if not left else 1
    ranks = [_get_magnitude(now_s - parse_time(t)) for t in (left, right)]
    if ranks[0] == ranks[1]:
        return -1 if a.uid < b.uid else 1
    return ranks[0] - ranks[1]


def _get_magnitude(age_s: float) -> int:
    """Return the binary logarithm of an age in nanoseconds."""
    return int(age_s * 1e9).bit_length() if age_s > 0 else 0
