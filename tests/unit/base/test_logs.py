import json
import logging

from apportion.base.logs import LineFormatter


def record(**fields: object) -> logging.LogRecord:
    made = logging.LogRecord("apportion", logging.INFO, "", 0, "a %s", ("word",), None)
    made.created = 1_767_225_600.25
    made.fields = fields
    return made


def test_lines_for_people_quote_what_needs_it() -> None:
    line = LineFormatter(as_json=False).format(record(pod="ns/p", reason='no "room"', attempt=2, duration_ms=0.5))
    start = 'time=2026-01-01T00:00:00.250000Z level=info msg="a word"'
    assert line == f'{start} pod=ns/p reason="no \\"room\\"" attempt=2 duration_ms=0.5'


def test_lines_for_programs_are_json_and_carry_the_time_of_the_event() -> None:
    line = LineFormatter(as_json=True).format(record(pod="ns/p", time_s=1_767_225_601.0))
    wanted = {"time": "2026-01-01T00:00:01.000000Z", "level": "info", "msg": "a word", "pod": "ns/p"}
    assert json.loads(line) == wanted
