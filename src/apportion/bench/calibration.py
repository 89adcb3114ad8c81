"""A loop of fixed work, timed beside a run: what makes figures of different machines comparable.

The work is of the kind that the scheduler does: small array operations, dictionaries, JSON and calls.
"""

import time
from typing import Final

import numpy as np
import orjson

_ROUNDS: Final = 400
_OBJECT: Final = {"metadata": {"name": "pod", "labels": {str(i): "value" for i in range(20)}}, "spec": {"cpu": 100}}


def _work() -> int:
    values = np.arange(5000, dtype=np.int64)
    seen: dict[str, int] = {}
    raw = orjson.dumps(_OBJECT)
    for i in range(_ROUNDS):
        scores = (values * (i + 3)) % 101
        best = int(np.flatnonzero(scores == scores.max())[0])
        tree = orjson.loads(raw)
        seen[f"{tree['metadata']['name']}-{i % 50}"] = best
        seen.update((key, len(value)) for key, value in tree["metadata"]["labels"].items())
    return len(seen)


def calibrate(turns: int = 9) -> float:
    """Return thousands of rounds of the work per second of processor time, the best of a few turns.

    Takes about a tenth of a second.
    """
    best_s = min(_timed() for _ in range(turns))
    return _ROUNDS / best_s / 1000


def _timed() -> float:
    start_s = time.process_time()
    _work()
    return time.process_time() - start_s
