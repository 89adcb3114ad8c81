"""How many pods a rollout may add or take away. Source: deployment/util/deployment_util.go and util/intstr."""

from typing import Any, Final

from apportion.api import Tree

_PERCENT: Final = "%"


def scale_amount(amount: Any, total: int, round_up: bool) -> int:
    """Return a number of pods that stands as a number or as a percentage of ``total``."""
    if isinstance(amount, str) and amount.endswith(_PERCENT) and amount[:-1].isdecimal():
        share = int(amount[:-1]) * total
        return -(-share // 100) if round_up else share // 100
    try:
        return int(amount or 0)
    except ValueError:
        return 0


def get_strategy(spec: Tree) -> str:
    """Return the type of a deployment's strategy."""
    return str((spec.get("strategy") or {}).get("type", "RollingUpdate"))


def get_limits(spec: Tree) -> tuple[int, int]:
    """Return how many pods may be above the wanted number, and how many below; never both none."""
    replicas = int(spec.get("replicas", 1))
    if get_strategy(spec) != "RollingUpdate":
        return 0, 0
    rolling = (spec.get("strategy") or {}).get("rollingUpdate") or {}
    surge = scale_amount(rolling.get("maxSurge"), replicas, round_up=True)
    unavailable = scale_amount(rolling.get("maxUnavailable"), replicas, round_up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, replicas)


def get_share(replicas: int, wanted: int, largest: int, largest_before: int, to_add: int) -> int:
    """Return by how much a set of ``replicas`` changes in proportion when its deployment goes to ``wanted``.

    ``largest`` is the most pods the deployment may have now, ``largest_before`` what it could have before; never more
    than ``to_add``, which is negative when the deployment shrinks.
    """
    if replicas == 0 or to_add == 0:
        return 0
    if wanted == 0:
        fraction = -replicas
    elif largest_before == 0:
        fraction = 0
    else:
        fraction = (2 * replicas * largest + largest_before) // (2 * largest_before) - replicas  # rounds half up
    return min(fraction, to_add) if to_add > 0 else max(fraction, to_add)
