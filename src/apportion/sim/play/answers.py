"""What the API answered, held against what a step expects."""

from collections.abc import Iterable, Iterator

import orjson

from apportion.base import InputError
from apportion.server import ApiResponse
from apportion.sim.play.matching import compare, matches_text
from apportion.sim.play.scenario import Refused, RequestExpect, Tree


class StepFailedError(InputError):
    """The step cannot be done."""


def check_answer(what: str, response: ApiResponse) -> None:
    if response.code >= 300:
        status = _status(response)
        raise StepFailedError(f"{what}: refused with {response.code}: {status.get('message')}")


def _status(response: ApiResponse) -> Tree:
    try:
        tree: Tree = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return {"message": response.body.decode(errors="replace").strip()}
    return tree


def expect_refusal(refused: Refused, answers: Iterable[tuple[str, ApiResponse]]) -> tuple[str, list[str]]:
    done = []
    for what, response in answers:
        if response.code >= 300:
            problems = list(_compare_refusal(refused, response))
            if problems:
                raise StepFailedError("\n".join(f"{what}: {p}" for p in problems))
            return f"{what}: refused as expected with {response.code}", []
        done.append(what)
    raise StepFailedError(f"{', '.join(done)}: expected to be refused, but the API accepted it")


def _compare_refusal(refused: Refused, response: ApiResponse) -> Iterator[str]:
    status = _status(response)
    message = status.get("message")
    if refused.code is not None and refused.code != response.code:
        yield f"expected code {refused.code}, found {response.code}: {message}"
    if refused.message is not None and not matches_text(refused.message, message):
        wanted = refused.message
        yield f"expected message {wanted if isinstance(wanted, str) else wanted.get('contains')!r}, found {message!r}"
    fields = [c.get("field") for c in (status.get("details") or {}).get("causes") or ()]
    if refused.field is not None and refused.field not in fields:
        yield f"expected a cause with field {refused.field}, found {', '.join(map(str, fields)) or 'none'}"


def compare_answer(expect: RequestExpect, response: ApiResponse) -> Iterator[str]:
    if expect.code is not None and expect.code != response.code:
        yield f"expected code {expect.code}, found {response.code}: {_status(response).get('message')}"
    if expect.answer is not None:
        yield from (str(d) for d in compare(expect.answer, _status(response), path="answer"))


def count_kinds(objects: list[Tree]) -> str:
    counts: dict[str, int] = {}
    for tree in objects:
        counts[tree["kind"]] = counts.get(tree["kind"], 0) + 1
    return ", ".join(f"{n} {kind}" for kind, n in counts.items()) or "nothing"
