"""Every transcript in this folder says what a search tries and answers, line by line."""

from pathlib import Path

import pytest

from stories.alloc.alloc_story import Story

STORIES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path: Path) -> None:
    expected = path.read_text()
    assert Story().play(expected) == expected
