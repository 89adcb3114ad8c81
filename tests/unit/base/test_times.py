import pytest

from apportion.base import InputError, parse_duration, parse_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("1m30s", 90),
        ("10m0s", 600),
        ("1.5h", 5400),
        ("300ms", 0.3),
        ("0", 0),
        ("-2s", -2),
        ("1h1ms", 3600.001),
    ],
)
def test_durations_are_read_as_go_reads_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "10", "s", "1d", "1 s", "--1s", "1s2"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a duration"):
        parse_duration(text)


def test_times_have_zones() -> None:
    assert parse_time("1970-01-01T00:01:00Z") == parse_time("1970-01-01T01:01:00+01:00") == 60
