"""Steps and expectations, each as a small scenario."""

from pathlib import Path

import pytest

from apportion.sim.play import Player, StepResult, read_scenario

NODE = """
    - apiVersion: v1
      kind: Node
      metadata: {name: n0}
      status:
        capacity: {cpu: 2, pods: 10}
        allocatable: {cpu: 2, pods: 10}
        conditions: [{type: Ready, status: "True"}]
"""


def pod(name: str, cpu: int = 1, extra: str = "") -> str:
    resources = f"resources: {{requests: {{cpu: {cpu}}}}}"
    spec = f"{{containers: [{{name: c, image: i, {resources}}}]{extra}}}"
    return f"\n    - {{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {spec}}}\n"


def play(folder: Path, steps: str, head: str = "") -> list[StepResult]:
    path = folder / "s.yaml"
    path.write_text(f"{head}\nsteps:\n{steps}")
    player = Player(read_scenario(str(path)))
    results = list(player.play())
    assert not results[-1].is_ok or player.world.faults.count_left() == 0
    return results


def problems(results: list[StepResult]) -> list[str]:
    assert all(r.is_ok for r in results[:-1])
    return results[-1].problems


WORLD = f"- apply:\n    objects:{NODE}{pod('a')}- run: idle\n"


@pytest.mark.parametrize(
    "item",
    [
        "{kind: Pod, metadata: {name: a}, spec: {nodeName: n0}, status: {phase: Running}}",
        "{kind: Pod, status: {phase: Running}}",
        "{kind: Pod, count: 1}",
        "{apiVersion: v1, kind: Pod, metadata: {name: b}, absent: true}",
        "{kind: Pod, status: {phase: Failed}, absent: true}",
        "{kind: Pod, status: {phase: Failed}, count: 0}",
        "{kind: Node, metadata: {name: n0}, spec: {taints: null}}",
        "{events: [{reason: Scheduled, type: Normal, note: {contains: to n0}, count: 1}]}",
        "{events: [{reason: Scheduled, regarding: {kind: Pod, namespace: default, name: a}}]}",
        "{events: [{reason: Failed, count: 0}]}",
    ],
)
def test_what_holds(item: str, tmp_path: Path) -> None:
    assert problems(play(tmp_path, f"{WORLD}- expect:\n  - {item}\n")) == []


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (
            "{kind: Pod, metadata: {name: a}, spec: {nodeName: n1}}",
            'Pod default/a: spec.nodeName: expected "n1", found "n0"',
        ),
        ("{kind: Pod, metadata: {name: b}}", "Pod b: does not exist"),
        ("{kind: Pod, count: 2}", "Pod: expected 2 that match, found 1 of 1"),
        ("{kind: Pod, metadata: {name: a}, absent: true}", "Pod default/a: expected none that matches"),
        ("{kind: Pod, metadata: {name: a}, unchangedSince: m}", "there is no mark 'm'; known are none"),
        ("{kind: Pot}", "no kind Pot is served"),
        ("{queue: {default/a: active}}", "queue default/a: expected active, found not in the queue"),
        ("{events: [{reason: Other}]}", "events (reason 'Other'): expected one or more, found 0"),
    ],
)
def test_what_does_not_hold_says_why(item: str, problem: str, tmp_path: Path) -> None:
    assert problems(play(tmp_path, f"{WORLD}- expect:\n  - {item}\n"))[0] == problem


def test_the_story_of_a_pod_tells_why_it_waits(tmp_path: Path) -> None:
    steps = f"{WORLD}- apply:\n    objects:{pod('big', 2)}- run: idle\n- expect: [{{queue: {{default/big: active}}}}]\n"
    last = play(tmp_path, steps)[-1]
    assert last.problems == ["queue default/big: expected active, found parked"]
    text = "\n".join(last.story)
    assert "pod default/big: Pending, node none" in text
    assert "event Warning FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu" in text
    assert "queue: parked, attempts 1, held by NodeResourcesFit" in text
    assert "now: 0/1 nodes are available: 1 Insufficient cpu" in text


def test_play_ends_at_the_first_step_that_fails(tmp_path: Path) -> None:
    results = play(tmp_path, "- delete: {kind: Pod, name: a}\n- run: idle\n")
    assert [r.problems for r in results] == [['Pod default/a: refused with 404: pods "a" not found']]


def test_refusals_are_expected_with_code_message_and_field(tmp_path: Path) -> None:
    wrong = "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: []}}"
    step = "- apply: {{objects: [%s], refused: {{%s}}}}\n"
    for refused in ("", "code: 422", "field: spec.containers", "message: {contains: Required value}"):
        assert problems(play(tmp_path, step.replace("{{", "{").replace("}}", "}") % (wrong, refused))) == []
    found = problems(play(tmp_path, step.replace("{{", "{").replace("}}", "}") % (wrong, "code: 409, field: spec.x")))
    assert found[0].startswith('Pod default/x: expected code 409, found 422: Pod "x" is invalid')
    assert found[1] == "Pod default/x: expected a cause with field spec.x, found spec.containers"
    fine = play(tmp_path, f"- apply:\n    objects:{pod('a')}    refused: {{code: 422}}\n")
    assert problems(fine) == ["Pod default/a: expected to be refused, but the API accepted it"]


def test_an_object_that_exists_is_patched_and_node_status_stored(tmp_path: Path) -> None:
    node = "{kind: Node, metadata: {name: n0, labels: {zone: z}}, status: {allocatable: {cpu: 8}}}"
    again = f"- apply: {{objects: [{node}]}}\n"
    seen = "{kind: Node, metadata: {labels: {zone: z}}, status: {allocatable: {cpu: 8, pods: 10}}}"
    assert problems(play(tmp_path, f"{WORLD}{again}- expect: [{seen}]\n")) == []


def test_patches_and_marks(tmp_path: Path) -> None:
    steps = f"""{WORLD}- mark: m
- patch: {{kind: Pod, name: a, type: json, patch: [{{op: add, path: /metadata/labels, value: {{x: "1"}}}}]}}
- patch: {{kind: Pod, name: a, type: strategic, subresource: status, patch: {{status: {{message: hm}}}}}}
- expect:
  - {{kind: Pod, metadata: {{name: a, labels: {{x: "1"}}}}, status: {{message: hm}}}}
  - {{kind: Node, unchangedSince: m}}
  - {{kind: Pod, metadata: {{name: a}}, unchangedSince: m}}
"""
    assert problems(play(tmp_path, steps))[0].startswith("Pod default/a: changed since m: resourceVersion was ")


def test_a_pod_with_run_seconds_succeeds_after_them(tmp_path: Path) -> None:
    text = pod("j", 1, ", restartPolicy: Never").replace(
        "name: j}", "name: j, annotations: {apportion.dev/run-seconds: '90'}}"
    )
    phase = "- expect: [{{kind: Pod, metadata: {{name: j}}, status: {{phase: {}}}}}]\n"
    steps = (
        f"- apply:\n    objects:{NODE}{text}- run: 89s\n{phase.format('Running')}- run: 2s\n{phase.format('Succeeded')}"
    )
    assert problems(play(tmp_path, steps)) == []
    results = play(tmp_path, f"- apply:\n    objects:{NODE}{text}- run: idle\n{phase.format('Succeeded')}")
    assert problems(results) == [] and results[1].at_s == pytest.approx(90)


def test_a_pod_waits_for_its_claim_before_it_runs_and_a_deleted_one_goes(tmp_path: Path) -> None:
    claim = ", nodeName: n0, resourceClaims: [{name: g, resourceClaimName: c}]"
    steps = f"""- apply:
    objects:{NODE}{pod("a", 1, claim)}- run: idle
- expect: [{{kind: Pod, metadata: {{name: a}}, status: {{phase: Pending}}}}]
- delete: {{kind: Pod, name: a}}
- run: idle
- expect: [{{kind: Pod, metadata: {{name: a}}, absent: true}}]
"""
    assert problems(play(tmp_path, steps)) == []


@pytest.mark.parametrize("component", ["scheduler", "controllers", "server"])
def test_work_goes_on_after_a_restart(component: str, tmp_path: Path) -> None:
    steps = f"""- apply:
    objects:{NODE}{pod("a")}- restart: {component}
- run: idle
- expect: [{{kind: Pod, metadata: {{name: a}}, spec: {{nodeName: n0}}, status: {{phase: Running}}}}]
- apply:
    objects:{pod("b")}- restart: {component}
- run: idle
- expect: [{{kind: Pod, status: {{phase: Running}}, count: 2}}]
"""
    assert problems(play(tmp_path, steps)) == []


def test_idle_that_never_comes_names_what_keeps_going(tmp_path: Path) -> None:
    stuck = "- apply: {objects: [{apiVersion: v1, kind: Namespace, metadata: {name: team}}]}\n"
    meta = "{name: c, namespace: team, finalizers: [a.b/c]}"
    held = f"- apply:\n    objects:\n    - {{apiVersion: v1, kind: ConfigMap, metadata: {meta}}}\n"
    results = play(tmp_path, f"{stuck}{held}- delete: {{kind: Namespace, name: team}}\n- run: idle\n")
    assert problems(results) == [
        "not idle after 3600s of virtual time; what keeps going:",
        "NamespaceController: team",
    ]


def test_print_shows_queue_events_and_objects(tmp_path: Path) -> None:
    steps = f"{WORLD}- apply:\n    objects:{pod('big', 2)}- run: idle\n"
    steps += "- print: [queue, events, Pod/default/a, Node/n0, Pod/default/x]\n"
    shown = play(tmp_path, steps)[-1].shown
    assert shown[0].startswith("default/big: parked, attempts 1, held by NodeResourcesFit")
    assert any(" Normal Scheduled Pod/default/a: Successfully assigned" in line for line in shown)
    assert "  nodeName: n0" in shown and "Pod default/x does not exist" in shown


def test_the_configuration_of_the_scenario_counts(tmp_path: Path) -> None:
    kind = "apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration"
    head = f"config: {{{kind}, profiles: [{{schedulerName: mine}}]}}"
    steps = f"{WORLD}- expect: [{{kind: Pod, metadata: {{name: a}}, spec: {{nodeName: null}}}}]\n"
    assert problems(play(tmp_path, steps, head)) == []


# ---- faults -----------------------------------------------------------------------------------------------

PLACED = "- run: idle\n- expect: [{kind: Pod, metadata: {name: a}, spec: {nodeName: n0}, status: {phase: Running}}]\n"


@pytest.mark.parametrize("answer", ["conflict", "timeout", "lost", "error"])
@pytest.mark.parametrize("on", ["{verb: bind, kind: Pod}", "{verb: create, kind: Binding, name: a}"])
def test_a_binding_that_goes_wrong_is_tried_again(on: str, answer: str, tmp_path: Path) -> None:
    steps = (
        f"- apply:\n    objects:{NODE}- fault: {{on: {on}, answer: {answer}}}\n- apply:\n    objects:{pod('a')}{PLACED}"
    )
    results = play(tmp_path, f"{steps}- expect: [{{events: [{{reason: Scheduled, count: 1}}]}}]\n")
    assert problems(results) == []


@pytest.mark.parametrize("times", [1, 3])
def test_a_status_that_cannot_be_written_is_written_later(times: int, tmp_path: Path) -> None:
    fault = f"- fault: {{on: {{verb: patch, kind: Pod/status}}, answer: error, times: {times}}}\n"
    assert problems(play(tmp_path, f"- apply:\n    objects:{NODE}{pod('a')}{fault}{PLACED}")) == []


@pytest.mark.parametrize(
    ("plugin", "point"),
    [("NodeResourcesFit", "PreFilter"), ("NodeResourcesFit", "Filter"), ("NodeResourcesFit", "Score")],
)
def test_a_plugin_that_fails_costs_the_pod_an_attempt(plugin: str, point: str, tmp_path: Path) -> None:
    fault = f"- fault: {{on: {{plugin: {plugin}, point: {point}}}, answer: error}}\n"
    steps = f"- apply:\n    objects:{NODE}{fault}- apply:\n    objects:{pod('a')}{PLACED}"
    failed = "- expect: [{events: [{reason: FailedScheduling, note: {contains: a fault of the scenario}, count: 1}]}]\n"
    assert problems(play(tmp_path, steps + failed)) == []


CLAIM = """
    - {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {}}
    - apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: s}
      spec: {driver: d.e, nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [{name: x}]}
    - apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: c}
      spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
"""


@pytest.mark.parametrize("answer", ["conflict", "timeout", "lost", "error"])
@pytest.mark.parametrize(
    "on",
    [
        "{plugin: DynamicResources, point: Reserve}",
        "{plugin: DynamicResources, point: PreBind}",
        "{verb: patch, kind: ResourceClaim}",
        "{verb: patch, kind: ResourceClaim/status}",
        "{verb: bind}",
    ],
)
def test_a_claim_survives_faults_on_its_way(on: str, answer: str, tmp_path: Path) -> None:
    claim = ", resourceClaims: [{name: g, resourceClaimName: c}]"
    steps = f"- apply:\n    objects:{NODE}{CLAIM}- fault: {{on: {on}, answer: {answer}}}\n"
    steps += f"- apply:\n    objects:{pod('a', 1, claim)}{PLACED}"
    held = "status: {allocation: {devices: {results: [{device: x}]}}, reservedFor: [{name: a}]}"
    steps += f"- expect: [{{kind: ResourceClaim, metadata: {{name: c}}, {held}}}]\n"
    assert problems(play(tmp_path, steps)) == []


def test_a_fault_that_can_never_happen_is_refused(tmp_path: Path) -> None:
    for on, text in (("plugin: Nope, point: Filter", "no plugin Nope"), ("plugin: NodeName, point: Bake", "'Bake'")):
        assert text in problems(play(tmp_path, f"- fault: {{on: {{{on}}}, answer: error}}\n"))[0]


# ---- requests and explanations ----------------------------------------------------------------------------


def test_raw_requests_and_watches(tmp_path: Path) -> None:
    steps = f"""{WORLD}- request:
    method: GET
    path: /api/v1/namespaces/default/pods/a
    expect: {{code: 200, answer: {{kind: Pod, spec: {{nodeName: n0}}}}}}
- request: {{method: POST, path: /api/v1/namespaces, body: {{metadata: {{name: x}}}}, expect: {{code: 201}}}}
- request:
    method: GET
    path: /api/v1/namespaces/default/pods?watch=1&timeoutSeconds=5
    expect: {{events: [{{type: ADDED, object: {{metadata: {{name: a}}}}}}]}}
- request: {{method: GET, path: /api/v1/pods/none, expect: {{code: 200}}}}
"""
    results = play(tmp_path, steps)
    assert problems(results)[0].startswith("GET /api/v1/pods/none: expected code 200, found 404")
    assert results[-1].at_s == pytest.approx(5)


def test_what_explain_says_of_a_pending_pod(tmp_path: Path) -> None:
    steps = (
        f"{WORLD}- apply:\n    objects:{pod('big', 2)}- run: idle\n- expect: [{{explain: {{pod: default/big, %s}}}}]\n"
    )
    rejection = "{plugin: NodeResourcesFit, code: Unschedulable, reasons: [Insufficient cpu]}"
    for fine in ("message: {contains: Insufficient cpu}", f"nodes: {{n0: {rejection}}}"):
        assert problems(play(tmp_path, steps % fine)) == []
    wrong = problems(play(tmp_path, steps % "nodes: {n0: fits, n1: fits}"))
    assert [w.partition(": ")[2][:20] for w in wrong] == ["node n0: expected fi", "node n1: does not ex"]
    assert problems(play(tmp_path, steps.replace("default/big", "default/a") % "nodes: {}"))[0].endswith("is called so")
