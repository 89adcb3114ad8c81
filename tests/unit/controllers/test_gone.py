"""What is remembered of objects that are gone."""

from apportion.controllers.gone import SeenUids


def test_the_oldest_is_forgotten_first() -> None:
    seen = SeenUids(most=2)
    for uid in ("a", "b", "c"):
        seen.add(uid)
    assert [uid in seen for uid in ("a", "b", "c")] == [False, True, True]
