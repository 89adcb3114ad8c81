"""Makes the builders of the scheduler's tests importable everywhere, and holds the server to its word in all tests."""

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from apportion.server.objects import Objects
from apportion.server.request import Target

sys.path.insert(0, str(Path(__file__).parent / "unit" / "sched"))


@pytest.fixture(autouse=True)
def _trees_are_what_their_bytes_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server keeps parsed must be what is stored, also after whoever read it is done with it."""
    get = Objects.get

    def checked(self: Objects, target: Target) -> Any:
        tree = get(self, target)
        assert tree == orjson.loads(self.get_entry(target).value)
        return tree

    monkeypatch.setattr(Objects, "get", checked)
