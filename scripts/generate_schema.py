"""Writes the table of the server's schemas from the JSON schemas in the package kubernetes-validate.

usage: python scripts/generate_schema.py DEFINITIONS.json VERSION > src/apportion/server/schema/table.json

DEFINITIONS.json is the file _definitions.json of one Kubernetes version in that package. For each type: its fields
with their shapes, and those that are required. A shape is a letter (s string, i integer, n number, b boolean,
q quantity, x integer or string, t time, * anything), ``@type``, ``["[", item, merge key, list keys]`` or
``["{", value]``. The merge key is "" for a list whose plain items are merged and null for a list that a strategic
merge patch replaces. ``docs`` has the texts of fields that the columns of tables are described with.
"""

import json
import sys
from pathlib import Path
from typing import Any

GROUPS = {
    "core": ["v1"],
    "apps": ["v1"],
    "batch": ["v1"],
    "policy": ["v1"],
    "coordination": ["v1"],
    "events": ["v1"],
    "discovery": ["v1"],
    "networking": ["v1"],
    "node": ["v1"],
    "autoscaling": ["v1", "v2"],
    "resource": ["v1", "v1beta2", "v1beta1", "v1alpha3"],
    "scheduling": ["v1", "v1beta1", "v1alpha3"],
    "storage": ["v1"],
    "rbac": ["v1"],
}
PREFIX = "#/$defs/"
WELL_KNOWN = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "q",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "x",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "t",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "t",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "*",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "*",
}
LETTERS = {"string": "s", "integer": "i", "number": "n", "boolean": "b"}
DOCUMENTED = {
    "meta.v1.ObjectMeta": ["name", "creationTimestamp"],
    "core.v1.ConfigMap": ["data"],
    "core.v1.Secret": ["data", "type"],
    "core.v1.Event": ["message", "reason", "type"],
    "apps.v1.DeploymentSpec": ["selector"],
    "apps.v1.DaemonSetSpec": ["selector"],
    "apps.v1.ReplicaSetSpec": ["selector", "replicas"],
    "apps.v1.ReplicaSetStatus": ["replicas", "readyReplicas"],
    "apps.v1.DaemonSetStatus": [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    ],
    "core.v1.PodSpec": ["nodeSelector", "nodeName"],
    "core.v1.PodStatus": ["podIP", "nominatedNodeName"],
    "core.v1.NodeSystemInfo": ["kubeletVersion", "osImage", "kernelVersion", "containerRuntimeVersion"],
    "core.v1.NodeStatus": ["addresses"],
    "core.v1.ServiceSpec": ["type", "clusterIP", "externalIPs", "ports", "selector"],
    "core.v1.ObjectFieldSelector": [],
    "core.v1.ObjectReference": ["fieldPath"],
    "batch.v1.JobStatus": ["succeeded"],
    "batch.v1.JobSpec": ["selector", "completions"],
    "coordination.v1.LeaseSpec": ["holderIdentity"],
    "scheduling.v1.PriorityClass": ["value", "globalDefault"],
}


def shorten(name: str) -> str:
    for prefix in ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis."):
        name = name.removeprefix(prefix)
    return name


def get_shape(schema: dict[str, Any], wanted: list[str]) -> Any:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(PREFIX)
        if name in WELL_KNOWN:
            return WELL_KNOWN[name]
        wanted.append(name)
        return "@" + shorten(name)
    kind = schema.get("type")
    kind = next(k for k in kind if k != "null") if isinstance(kind, list) else kind
    if kind == "array":
        merges = "merge" in schema.get("x-kubernetes-patch-strategy", "")
        key = schema.get("x-kubernetes-patch-merge-key", "") if merges else None
        shape = ["[", get_shape(schema["items"], wanted), key]
        return [*shape, schema["x-kubernetes-list-map-keys"]] if "x-kubernetes-list-map-keys" in schema else shape
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return ["{", get_shape(schema["additionalProperties"], wanted)]
    return LETTERS.get(kind or "", "*")


def main() -> None:
    source, version = sys.argv[1:]
    definitions = json.loads(Path(source).read_text())["$defs"]
    types: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    wanted = []
    for name, schema in definitions.items():
        parts = name.removeprefix("io.k8s.api.").split(".")
        identity = schema.get("x-kubernetes-group-version-kind", [])
        is_served = len(parts) == 3 and parts[1] in GROUPS.get(parts[0], []) and not parts[2].endswith("List")
        if is_served and len(identity) == 1:
            wanted.append(name)
            group = identity[0]["group"]
            kinds[f"{group}/{parts[1]}/{parts[2]}" if group else f"{parts[1]}/{parts[2]}"] = shorten(name)
    while wanted:
        name = wanted.pop()
        if shorten(name) in types:
            continue
        schema = definitions[name]
        fields = {f: get_shape(s, wanted) for f, s in sorted(schema.get("properties", {}).items())}
        types[shorten(name)] = [fields, schema.get("required", [])] if fields else "*"
    docs = {}
    for name, fields in DOCUMENTED.items():
        long = next(n for n in definitions if shorten(n) == name)
        docs.update({f"{name}.{f}": definitions[long]["properties"][f]["description"] for f in fields})
    origin = f"Kubernetes {version}, by way of the Python package kubernetes-validate (Apache License 2.0)"
    print(
        '{"source": ' + json.dumps(origin) + ',\n"kinds": ' + json.dumps(dict(sorted(kinds.items()))) + ',\n"types": {'
    )
    print(",\n".join(f"{json.dumps(n)}: {json.dumps(t, separators=(',', ':'))}" for n, t in sorted(types.items())))
    print('},\n"docs": {')
    print(",\n".join(f"{json.dumps(n)}: {json.dumps(t)}" for n, t in sorted(docs.items())))
    print("}}")


main()
