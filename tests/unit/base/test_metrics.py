"""The text form is read by Prometheus; its examples are those of the exposition format's description."""

from apportion.base.metrics import Counter, Histogram, Reading, exponential, render


def test_counters_and_readings() -> None:
    counter = Counter("requests_total", "Requests\nso far.", ("code",))
    counter.add(("200",))
    counter.add(("200",), 2)
    counter.add(('4"04\\',))
    gauge = Reading("open", "Open.", (), lambda: {(): 1.5})
    assert render([counter, gauge]).decode().splitlines() == [
        "# HELP open Open.",
        "# TYPE open gauge",
        "open 1.5",
        "# HELP requests_total Requests\\nso far.",
        "# TYPE requests_total counter",
        'requests_total{code="200"} 3',
        'requests_total{code="4\\"04\\\\"} 1',
    ]


def test_buckets_are_cumulated_and_a_bound_belongs_to_its_bucket() -> None:
    histogram = Histogram("h", "H.", exponential(1, 2, 3), ("a",))
    for value in (0.5, 1, 3, 9):
        histogram.observe(value, ("x",))
    assert render([histogram]).decode().splitlines()[2:] == [
        'h_bucket{a="x",le="1"} 2',
        'h_bucket{a="x",le="2"} 2',
        'h_bucket{a="x",le="4"} 3',
        'h_bucket{a="x",le="+Inf"} 4',
        'h_sum{a="x"} 13.5',
        'h_count{a="x"} 4',
    ]
    assert histogram.count(("x",)) == 4


def test_what_was_never_counted_is_zero_or_absent() -> None:
    assert b"c 0\n" in render([Counter("c", "C.")])
    assert render([Histogram("h", "H.", (1.0,))]).decode().splitlines() == ["# HELP h H.", "# TYPE h histogram"]
