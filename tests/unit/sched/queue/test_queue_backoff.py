import pytest

from apportion.base import ConfigError
from apportion.sched.queue import QueueConfig
from apportion.sched.queue.backoff import NO_BACKOFF_S, Backoff


def delays_s(config: QueueConfig, size: int = 1) -> list[float]:
    return [Backoff(config).delay_s(failures, size) for failures in range(1, 7)]


def test_delays_double_up_to_the_limit() -> None:
    assert delays_s(QueueConfig()) == [1, 2, 4, 8, 10, 10]


def test_a_group_of_nine_has_three_times_the_limit() -> None:
    assert delays_s(QueueConfig(), size=9) == [1, 2, 4, 8, 16, 30]


def test_an_initial_delay_above_the_limit_is_cut() -> None:
    assert delays_s(QueueConfig(initial_backoff_s=4, max_backoff_s=2)) == [2] * 6


def test_many_failures_do_not_overflow() -> None:
    assert Backoff(QueueConfig()).delay_s(100_000) == 10


@pytest.mark.parametrize(("config", "failures"), [(QueueConfig(), 0), (QueueConfig(max_backoff_s=0), 3)])
def test_no_backoff(config: QueueConfig, failures: int) -> None:
    backoff = Backoff(config)
    assert backoff.expiry_s(100.0, failures) == NO_BACKOFF_S
    assert not backoff.is_running(NO_BACKOFF_S, 0.0)


def test_expiry_falls_on_a_full_second_and_lasts_through_it() -> None:
    backoff = Backoff(QueueConfig())
    assert backoff.expiry_s(100.75, 1) == 101
    assert backoff.is_running(101, 101.99)
    assert not backoff.is_running(101, 102.0)


def test_expiry_is_exact_when_nothing_is_popped_early() -> None:
    backoff = Backoff(QueueConfig(pop_from_backoff=False))
    assert backoff.expiry_s(100.75, 1) == 101.75
    assert backoff.is_running(101.75, 101.75)
    assert not backoff.is_running(101.75, 101.8)


@pytest.mark.parametrize("name", ["initial_backoff_s", "max_backoff_s", "max_parked_s"])
@pytest.mark.parametrize("value", [-1.0, float("inf"), float("nan")])
def test_config_names_the_field_that_is_wrong(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"queue {name}="):
        QueueConfig(**{name: value})


def test_parked_pods_must_rest() -> None:
    with pytest.raises(ConfigError, match="max_parked_s=0"):
        QueueConfig(max_parked_s=0)
