"""Each transcript must come out as it is written."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from cycle_story import CycleStory

STORIES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda p: p.stem)
def test_the_story_comes_out_as_written(path: Path) -> None:
    written = path.read_text()
    assert CycleStory().run(written) == written


def test_there_are_stories() -> None:
    assert len(STORIES) >= 4
