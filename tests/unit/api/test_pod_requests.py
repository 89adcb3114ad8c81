from apportion.api.core import (
    Container,
    ContainerStatus,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from apportion.api.pod_requests import nonzero_requests, pod_requests
from apportion.api.view import Condition, ResourceList

MI = 1 << 20


def asks(name: str = "c", restart_policy: str = "", **requests: str | int | float) -> Container:
    return Container(name=name, restart_policy=restart_policy, resources=ResourceRequirements(requests=dict(requests)))


def test_containers_add_up_before_rounding() -> None:
    spec = PodSpec(containers=tuple(asks(f"c{i}", cpu="100u", memory="0.4") for i in range(10)))
    assert pod_requests(spec) == {"cpu": 1, "memory": 4}


def test_sidecar_counts_with_the_containers() -> None:
    # k/k#127868: main 4 CPU + sidecar 250m does not fit 4 CPU
    spec = PodSpec(containers=(asks(cpu=4),), init_containers=(asks("s", "Always", cpu="250m"),))
    assert pod_requests(spec) == {"cpu": 4250}


def test_init_phase_peak_counts_sidecars_started_earlier_only() -> None:
    early = (asks("s", "Always", cpu=1), asks("i", cpu=5))
    assert pod_requests(PodSpec(containers=(asks(cpu=2),), init_containers=early)) == {"cpu": 6000}
    assert pod_requests(PodSpec(containers=(asks(cpu=2),), init_containers=early[::-1])) == {"cpu": 5000}


def test_init_request_stays_the_pod_request() -> None:
    # k/k#90177
    spec = PodSpec(containers=(asks(cpu="100m"),), init_containers=(asks("i", cpu=8),))
    assert pod_requests(spec) == {"cpu": 8000}


def test_overhead_comes_on_top() -> None:
    spec = PodSpec(containers=(asks(cpu=1),), overhead={"cpu": "250m", "memory": "1Mi"})
    assert pod_requests(spec) == {"cpu": 1250, "memory": MI}


def test_pod_level_amounts_replace_the_sum_for_the_resources_they_name() -> None:
    level = ResourceRequirements(requests={"cpu": "3", "example.com/gpu": "9"})
    spec = PodSpec(containers=(asks(cpu=1, memory="1Mi", **{"example.com/gpu": 1}),), resources=level)
    assert pod_requests(spec) == {"cpu": 3000, "memory": MI, "example.com/gpu": 1}


def test_extended_resources_and_zero_amounts_are_kept() -> None:
    spec = PodSpec(containers=(asks(**{"example.com/gpu": "2", "cpu": "0"}),))
    assert pod_requests(spec) == {"example.com/gpu": 2, "cpu": 0}


def resized(asked: str, granted: str, used: str, *conditions: Condition) -> dict[str, int]:
    status = PodStatus(
        container_statuses=(
            ContainerStatus(
                name="c",
                allocated_resources={"cpu": granted},
                resources=ResourceRequirements(requests={"cpu": used}),
            ),
        ),
        conditions=conditions,
    )
    return pod_requests(PodSpec(containers=(asks(cpu=asked),)), status)


def test_resize_counts_the_highest_of_asked_granted_and_used() -> None:
    assert resized("1", "2", "3") == {"cpu": 3000}
    assert resized("1", "2", "1") == {"cpu": 2000}
    assert resized("4", "2", "3") == {"cpu": 4000}


def test_infeasible_resize_does_not_count() -> None:
    infeasible = Condition(type="PodResizePending", status="True", reason="Infeasible")
    assert resized("4", "2", "3", infeasible) == {"cpu": 3000}
    assert resized("4", "2", "3", Condition(type="PodResizePending", status="True", reason="Deferred")) == {"cpu": 4000}


def level_nonzero(**requests: str) -> tuple[int, int]:
    level: ResourceList = dict(requests)
    spec = PodSpec(containers=(asks("a"), asks("b")), resources=ResourceRequirements(requests=level) if level else None)
    return nonzero_requests(spec)


def test_scoring_defaults_are_per_container_and_spare_explicit_zero() -> None:
    spec = PodSpec(containers=(asks("a"), asks("b", cpu="0", memory="1Mi")))
    assert nonzero_requests(spec) == (100, 201 * MI)


def test_scoring_defaults_beside_pod_level_amounts() -> None:
    assert level_nonzero() == (200, 400 * MI)
    assert level_nonzero(cpu="50m") == (50, 400 * MI)
    assert level_nonzero(cpu="50m", memory="1Mi") == (50, MI)


def test_scoring_default_covers_the_init_phase_too() -> None:
    spec = PodSpec(containers=(asks(cpu="50m"),), init_containers=(asks("i"),))
    assert nonzero_requests(spec) == (100, 200 * MI)
