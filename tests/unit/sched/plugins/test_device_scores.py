"""The scores of DynamicResources on the scale of all plugins."""

import numpy as np
import pytest

from apportion.sched.framework.columns import normalize_default

LARGEST = 2**31 - 1


@pytest.mark.parametrize(
    ("raw", "ok", "wanted"),
    [
        ([42], [1], [100]),
        ([99, 98, 97], [1, 1, 1], [100, 98, 97]),
        ([LARGEST - 1, LARGEST], [1, 1], [99, 100]),
        ([0, 0], [1, 1], [0, 0]),
        ([], [], []),
        ([8, 0], [1, 1], [100, 0]),
        ([16, 8, 4], [0, 1, 1], [200, 100, 50]),
    ],
)
def test_scores_are_scaled_to_the_best_feasible_node(raw: list[int], ok: list[int], wanted: list[int]) -> None:
    found = normalize_default(np.array(raw, np.int64), np.array(ok, np.bool_), reverse=False)
    assert found.tolist() == wanted
