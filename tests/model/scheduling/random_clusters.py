"""Random small clusters that meet in few labels, so that plugins have something to disagree about."""

import random

from reference_objects import Tree

ZONES, APPS, NAMESPACES = ("a", "b", "c"), ("web", "db", "job"), ("default", "team", "lab")
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TAINTS = [("dedicated", "gpu"), ("slow", "")]
IMAGES = [("img/small:1", 40 << 20), ("img/large:latest", 900 << 20)]


class Maker:
    """Draws objects from a seeded generator."""

    def __init__(self, seed: int) -> None:
        self._r = random.Random(seed)
        self._count = 0

    def _maybe(self, chance: float) -> bool:
        return self._r.random() < chance

    def node(self, index: int) -> Tree:
        r = self._r
        labels = {HOSTNAME: f"n{index}", "rank": str(r.randint(0, 5))}
        if not self._maybe(0.15):
            labels[ZONE] = r.choice(ZONES)
        room = {"cpu": r.choice(["2", "4", "3500m"]), "memory": r.choice(["4Gi", "8Gi"]), "pods": str(r.randint(2, 8))}
        images = [{"names": [name], "sizeBytes": size} for name, size in IMAGES if self._maybe(0.4)]
        effects = ("NoSchedule", "NoExecute", "PreferNoSchedule")
        taints = [{"key": k, "value": v, "effect": r.choice(effects)} for k, v in TAINTS if self._maybe(0.2)]
        spec = {"taints": taints, "unschedulable": self._maybe(0.08)}
        status = {"allocatable": room, "capacity": room, "images": images}
        name = f"n{index}"
        meta = {"name": name, "uid": f"uid-{name}", "labels": labels}
        return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": status}

    def namespace(self, name: str) -> Tree:
        labels = {"kubernetes.io/metadata.name": name, "owner": self._r.choice(["x", "y"])}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}

    def pod(self, node: str = "") -> Tree:
        r = self._r
        self._count += 1
        name = f"p{self._count}"
        spec: Tree = {"containers": [self._container() for _ in range(r.randint(1, 2))]}
        if self._maybe(0.2):
            spec["initContainers"] = [{**self._container(), "restartPolicy": "Always"}]
        if self._maybe(0.2):
            spec["nodeSelector"] = {ZONE: r.choice(ZONES)}
        if self._maybe(0.3):
            spec["tolerations"] = [self._toleration()]
        affinity = {k: v for k, v in (("nodeAffinity", self._node_affinity()), *self._pod_affinities()) if v}
        if affinity:
            spec["affinity"] = affinity
        if self._maybe(0.5):
            spec["topologySpreadConstraints"] = [self._spread() for _ in range(r.randint(1, 2))]
        if node:
            spec["nodeName"] = node
        meta: Tree = {"name": name, "namespace": r.choice(NAMESPACES), "uid": f"uid-{name}"}
        meta["labels"] = {"app": r.choice(APPS), "tier": r.choice(["1", "2"])}
        if node and self._maybe(0.1):
            meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        status = {"phase": "Running" if node else "Pending"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}

    def _container(self) -> Tree:
        r = self._r
        container: Tree = {"name": "c", "image": r.choice(["img/small:1", "img/large", "img/none"])}
        if self._maybe(0.7):
            wanted = {"cpu": r.choice(["100m", "500m", "1"]), "memory": r.choice(["128Mi", "1Gi"])}
            names = r.sample(sorted(wanted), r.randint(1, 2))
            container["resources"] = {"requests": {n: wanted[n] for n in names}}
        if self._maybe(0.15):
            port = {"containerPort": 80, "hostPort": r.choice([80, 81]), "protocol": r.choice(["TCP", "UDP"])}
            container["ports"] = [{**port, "hostIP": r.choice(["", "10.0.0.1", "10.0.0.2"])}]
        return container

    def _toleration(self) -> Tree:
        key, value = self._r.choice(TAINTS)
        toleration: Tree = self._r.choice([{"key": key, "operator": "Exists"}, {"key": key, "value": value}])
        if self._maybe(0.5):
            toleration = {**toleration, "effect": self._r.choice(["NoSchedule", "PreferNoSchedule"])}
        return toleration

    def _selector(self) -> Tree:
        r = self._r
        return r.choice(
            [
                {"matchLabels": {"app": r.choice(APPS)}},
                {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [r.choice(APPS)]}]},
                {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
            ]
        )

    def _node_term(self) -> Tree:
        r = self._r
        operator = r.choice(["In", "NotIn", "Exists", "Gt", "Lt"])
        if operator in ("Gt", "Lt"):
            return {"matchExpressions": [{"key": "rank", "operator": operator, "values": ["2"]}]}
        values = [r.choice(ZONES)] if operator != "Exists" else []
        return {"matchExpressions": [{"key": ZONE, "operator": operator, **({"values": values} if values else {})}]}

    def _node_affinity(self) -> Tree:
        found: Tree = {}
        if self._maybe(0.2):
            terms = [self._node_term() for _ in range(self._r.randint(1, 2))]
            found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
        if self._maybe(0.3):
            preferred = [{"weight": self._r.randint(1, 100), "preference": self._node_term()} for _ in range(2)]
            found["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
        return found

    def _pod_term(self) -> Tree:
        r = self._r
        term: Tree = {"labelSelector": self._selector(), "topologyKey": r.choice([HOSTNAME, ZONE])}
        if self._maybe(0.3):
            term["namespaces"] = r.sample(NAMESPACES, r.randint(1, 2))
        if self._maybe(0.3):
            term["namespaceSelector"] = r.choice([{}, {"matchLabels": {"owner": "x"}}])
        return term

    def _pod_affinities(self) -> list[tuple[str, Tree]]:
        found = []
        for kind, chance in (("podAffinity", 0.15), ("podAntiAffinity", 0.2)):
            entry: Tree = {}
            if self._maybe(chance):
                terms = [self._pod_term() for _ in range(self._r.randint(1, 2))]
                entry["requiredDuringSchedulingIgnoredDuringExecution"] = terms
            if self._maybe(0.3):
                weighted = [{"weight": self._r.randint(1, 100), "podAffinityTerm": self._pod_term()}]
                entry["preferredDuringSchedulingIgnoredDuringExecution"] = weighted
            found.append((kind, entry))
        return found

    def _spread(self) -> Tree:
        r = self._r
        spread: Tree = {
            "maxSkew": r.randint(1, 3),
            "topologyKey": r.choice([HOSTNAME, ZONE]),
            "whenUnsatisfiable": r.choice(["DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": self._selector(),
        }
        if self._maybe(0.3):
            spread["nodeTaintsPolicy"] = r.choice(["Honor", "Ignore"])
        if self._maybe(0.3):
            spread["nodeAffinityPolicy"] = r.choice(["Honor", "Ignore"])
        if spread["whenUnsatisfiable"] == "DoNotSchedule" and self._maybe(0.3):
            spread["minDomains"] = r.randint(1, 4)
        return spread
