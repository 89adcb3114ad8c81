"""Plain reading of API objects for the slow reference: dicts in, numbers and truths out."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

Tree = dict[str, Any]
_UNITS = {
    "m": Decimal("0.001"), "": Decimal(1), "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40),
}  # fmt: skip


def amount(resource: str, text: Any) -> int:
    """Return a quantity in milli-CPUs, bytes or whole units, rounded up."""
    text = str(text)
    digits = text.rstrip("".join(sorted({c for unit in _UNITS for c in unit})))
    value = Decimal(digits) * _UNITS[text[len(digits) :]]
    if resource == "cpu":
        value *= 1000
    return int(value.to_integral_value(rounding="ROUND_CEILING"))


def requests(pod: Tree) -> dict[str, int]:
    """Return what a pod requests: pod-level amounts stand in the place of what its containers ask for."""
    total = {**_containers(pod, {}), **_pod_level(pod)}
    _add(total, _overhead(pod))
    return {n: v for n, v in total.items() if v}


def requests_for_score(pod: Tree, is_placed: bool) -> dict[str, int]:
    """Return what scoring assumes: a little for containers that ask for no CPU or memory.

    As recorded, pod-level amounts count for pods that are on a node and not for the one that is being placed.
    """
    level = _pod_level(pod) if is_placed else {}
    named = {**_containers(pod, {}), **level}
    defaults = {"cpu": 100, "memory": 200 << 20}
    if level:
        defaults = {n: v for n, v in defaults.items() if n not in named}
    total = {**_containers(pod, defaults), **level}
    _add(total, _overhead(pod))
    return total


def _pod_level(pod: Tree) -> dict[str, int]:
    wanted = (pod["spec"].get("resources") or {}).get("requests") or {}
    counted = {n: v for n, v in wanted.items() if n in ("cpu", "memory") or n.startswith("hugepages-")}
    return {n: amount(n, v) for n, v in counted.items()}


def _overhead(pod: Tree) -> dict[str, int]:
    return {n: amount(n, v) for n, v in (pod["spec"].get("overhead") or {}).items()}


def _containers(pod: Tree, defaults: dict[str, int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        _add(total, _of(container, defaults))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in pod["spec"].get("initContainers") or ():
        wanted = _of(container, defaults)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, wanted)
            _add(total, wanted)
            wanted = dict(sidecars)
        else:
            wanted = {n: wanted.get(n, 0) + sidecars.get(n, 0) for n in wanted.keys() | sidecars.keys()}
        for name, value in wanted.items():
            peak[name] = max(peak.get(name, 0), value)
    for name, value in peak.items():
        total[name] = max(total.get(name, 0), value)
    return total


def _of(container: Tree, defaults: dict[str, int]) -> dict[str, int]:
    wanted = (container.get("resources") or {}).get("requests") or {}
    return {**defaults, **{n: amount(n, v) for n, v in wanted.items()}}


def _add(total: dict[str, int], more: dict[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


# ---- selectors --------------------------------------------------------------------------------------------


def matches_expression(labels: dict[str, str], expression: Tree) -> bool:
    key, operator, values = expression["key"], expression["operator"], expression.get("values") or []
    has, value = key in labels, labels.get(key)
    if operator == "In":
        return has and value in values
    if operator == "NotIn":
        return not has or value not in values
    if operator == "Exists":
        return has
    if operator == "DoesNotExist":
        return not has
    try:
        left, right = int(value or ""), int(values[0])
    except ValueError:
        return False
    return has and (left > right if operator == "Gt" else left < right)


def matches_selector(labels: dict[str, str], selector: Tree | None) -> bool:
    """Return whether a label selector selects; a missing one selects nothing, an empty one everything."""
    if selector is None:
        return False
    exact = all(labels.get(k) == v for k, v in (selector.get("matchLabels") or {}).items())
    return exact and all(matches_expression(labels, e) for e in selector.get("matchExpressions") or ())


def matches_node_term(node: Tree, term: Tree) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    labels, name = labels_of(node), {"metadata.name": node["metadata"]["name"]}
    return all(matches_expression(labels, e) for e in expressions) and all(matches_expression(name, f) for f in fields)


def labels_of(tree: Tree) -> dict[str, str]:
    return tree["metadata"].get("labels") or {}


def tolerates(toleration: Tree, taint: Tree) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def untolerated(node: Tree, tolerations: Iterable[Tree], effects: tuple[str, ...]) -> int:
    """Return how many taints with one of the effects no toleration covers."""
    listed = list(tolerations)
    taints = [t for t in node.get("spec", {}).get("taints") or () if t["effect"] in effects]
    return sum(not any(tolerates(t, taint) for t in listed) for taint in taints)


def affinity_of(pod: Tree, kind: str) -> Tree:
    return ((pod["spec"].get("affinity") or {}).get(kind)) or {}
