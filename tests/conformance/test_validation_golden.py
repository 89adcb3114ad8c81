"""Validation against the recorded answers of kube-apiserver 1.37.2: which objects it refuses, and in which words."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apportion.api.conversion import convert_to_preferred
from apportion.api.defaults import set_defaults
from apportion.api.kinds import find_kind_of
from apportion.api.validation import validate

GOLDEN = Path(__file__).parent.parent / "golden" / "api-conversations.jsonl.gz"
CONVERSATIONS = ("pod-invalid", "claim-invalid", "slice-invalid", "class-and-template")
# What scheduling does not read, what CEL says, and what the namespace decides is checked elsewhere or not at all.
ELSEWHERE = ("activeDeadlineSeconds", "dnsPolicy", "cel.expression: Invalid", "adminAccess: Forbidden")


def recorded() -> Iterator[Any]:
    with gzip.open(GOLDEN, "rt") as lines:
        for conversation in map(json.loads, lines):
            if conversation["id"] not in CONVERSATIONS:
                continue
            for step in conversation["steps"]:
                body, code = step.get("body"), step["code"]
                if step["method"] != "POST" or code not in (201, 422) or find_kind_of(body) is None:
                    continue
                message = "" if code == 201 else step["answer"]["message"].split(" is invalid: ", 1)[1]
                if not any(part in message for part in ELSEWHERE):
                    name = f"{conversation['id']}-{body['metadata'].get('name')}"
                    yield pytest.param(body, message, id=name)


@pytest.mark.parametrize(("body", "message"), list(recorded()))
def test_same_answer_as_the_api_server(body: dict[str, Any], message: str) -> None:
    kind = find_kind_of(body)
    assert kind is not None
    tree = set_defaults(convert_to_preferred(body, kind), kind)
    problems = [str(error) for error in validate(tree, lambda _expression: None)]
    joined = ", ".join(problems)
    assert (f"[{joined}]" if len(problems) > 1 else joined) == message
