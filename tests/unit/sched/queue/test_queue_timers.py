import pytest

from apportion.sched.queue.timers import ScanTimes, next_second_after_s


@pytest.mark.parametrize(
    ("time_s", "last_s", "next_s"), [(100.0, 100, 130), (129.9, 100, 130), (130.0, 130, 160), (99.0, 70, 100)]
)
def test_scan_times_are_half_a_minute_apart_from_the_start(time_s: float, last_s: float, next_s: float) -> None:
    scans = ScanTimes(100.7)
    assert (scans.last_s(time_s), scans.next_after_s(time_s)) == (last_s, next_s)


@pytest.mark.parametrize(("time_s", "next_s"), [(1.0, 2.0), (1.5, 2.0), (-0.5, 0.0)])
def test_next_second_is_later(time_s: float, next_s: float) -> None:
    assert next_second_after_s(time_s) == next_s
