"""Evictions because of devices, through the whole control plane in virtual time."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion.sim.play import Player, read_scenario

CLUSTER = """
- apply:
    objects:
    - {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}
    - apiVersion: v1
      kind: Node
      metadata: {name: n0}
      status:
        capacity: {cpu: 4, memory: 8Gi, pods: 110}
        allocatable: {cpu: 4, memory: 8Gi, pods: 110}
        conditions: [{type: Ready, status: "True"}]
    - apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: s0}
      spec:
        driver: d.example.com
        nodeName: n0
        pool: {name: n0, generation: 1, resourceSliceCount: 1}
        devices: [{name: d0}, {name: d1}]
"""


def pod(name: str, tolerations: str = "[]") -> str:
    """Return objects of a pod with a claim for one device."""
    return f"""
    - apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {{name: {name}}}
      spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: any, tolerations: {tolerations}}}}}]}}}}
    - apiVersion: v1
      kind: Pod
      metadata: {{name: {name}}}
      spec:
        containers: [{{name: c, image: i, resources: {{claims: [{{name: g}}]}}}}]
        resourceClaims: [{{name: g, resourceClaimName: {name}}}]
"""


def rule(effect: str = "NoExecute", selector: str = "{driver: d.example.com}") -> str:
    return f"""
    - apiVersion: resource.k8s.io/v1
      kind: DeviceTaintRule
      metadata: {{name: broken}}
      spec: {{deviceSelector: {selector}, taint: {{key: broken, effect: {effect}}}}}
"""


def status(status: str, reason: str, text: str) -> str:
    condition = f'type: EvictionInProgress, status: "{status}", reason: {reason}, message: {{contains: "{text}"}}'
    rule = "apiVersion: resource.k8s.io/v1, kind: DeviceTaintRule, metadata: {name: broken}"
    return f"- {{{rule}, status: {{conditions: [{{{condition}}}]}}}}"


def play(folder: Path, *steps: str, **more: Any) -> None:
    path = folder / "scenario.yaml"
    tree = {"steps": [step for text in (CLUSTER, *steps) for step in yaml.safe_load(text)], **more}
    path.write_text(yaml.safe_dump(tree))
    for result in Player(read_scenario(str(path))).play():
        assert result.is_ok, result.problems


def applying(*objects: str) -> str:
    return "- apply:\n    objects:" + "".join(objects)


RUNNING = "- {kind: Pod, metadata: {name: p}, status: {phase: Running}}"
GONE = "- {kind: Pod, metadata: {name: p}, absent: true}"


def expecting(*items: str) -> str:
    return "- expect:\n" + "".join(f"  {item}\n" for item in items)


def test_a_pod_goes_when_its_device_is_tainted(tmp_path: Path) -> None:
    told = (
        "- events: [{reason: DeviceTaintManagerEviction, note: Marking for deletion, regarding: {kind: Pod, name: p}}]"
    )
    play(
        tmp_path,
        applying(pod("p")),
        "- run: 5s",
        expecting(RUNNING),
        applying(rule()),
        "- run: 15s",
        expecting(GONE, told, status("False", "Completed", "1 pod evicted since starting the controller.")),
    )


def test_a_driver_may_taint_its_device_itself(tmp_path: Path) -> None:
    taint = "[{name: d0, taints: [{key: broken, effect: NoExecute}]}, {name: d1}]"
    play(
        tmp_path,
        applying(pod("p")),
        "- run: 5s",
        f"- patch: {{kind: ResourceSlice, name: s0, patch: {{spec: {{devices: {taint}}}}}}}",
        "- run: 5s",
        expecting(GONE),
    )


@pytest.mark.parametrize("effect", ["NoExecute", '""'])
def test_tolerations_keep_a_pod_where_it_is(effect: str, tmp_path: Path) -> None:
    play(
        tmp_path,
        applying(pod("p", f"[{{key: broken, operator: Exists, effect: {effect}}}]")),
        "- run: 5s",
        applying(rule()),
        "- run: 60s",
        expecting(RUNNING, status("False", "NotStarted", "0 pods evicted")),
    )


def test_toleration_seconds_are_waited_for(tmp_path: Path) -> None:
    tolerations = "[{key: broken, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]"
    pending = "1 pod needs to be evicted in 1 namespace. 0 pods evicted since starting the controller."
    play(
        tmp_path,
        applying(pod("p", tolerations)),
        "- run: 5s",
        applying(rule()),
        "- run: 25s",
        expecting(RUNNING, status("True", "PodsPendingEviction", pending)),
        "- run: 20s",
        expecting(GONE, status("False", "Completed", "1 pod evicted")),
    )


def test_a_rule_that_goes_in_time_cancels_the_eviction(tmp_path: Path) -> None:
    tolerations = "[{key: broken, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]"
    told = (
        "- events: [{reason: DeviceTaintManagerEviction, note: Cancelling deletion, regarding: {kind: Pod, name: p}}]"
    )
    play(
        tmp_path,
        applying(pod("p", tolerations)),
        "- run: 5s",
        applying(rule()),
        "- run: 10s",
        "- delete: {kind: DeviceTaintRule, name: broken}",
        "- run: 60s",
        expecting(RUNNING, told),
    )


def test_a_rule_without_effect_says_what_it_would_do(tmp_path: Path) -> None:
    text = "2 published devices selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if"
    play(
        tmp_path,
        applying(pod("p")),
        "- run: 5s",
        applying(rule("None", "{}")),
        "- run: 20s",
        expecting(RUNNING, status("False", "NoEffect", text)),
    )


@pytest.mark.parametrize("selector", ["{driver: other.example.com}", "{pool: n1}", "{device: d1}", "null"])
def test_rules_for_other_devices_change_nothing(selector: str, tmp_path: Path) -> None:
    play(tmp_path, applying(pod("p")), "- run: 5s", applying(rule(selector=selector)), "- run: 20s", expecting(RUNNING))


def test_rules_have_a_gate(tmp_path: Path) -> None:
    play(
        tmp_path,
        applying(pod("p")),
        "- run: 5s",
        applying(rule()),
        "- run: 20s",
        expecting(RUNNING),
        featureGates={"DRADeviceTaintRules": False},
    )
