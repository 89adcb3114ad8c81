"""Runs one workload in a process of its own, so that its memory is its own.

Called as ``python -m apportion.bench MODE NAME SEED`` or ``python -m apportion.bench file JOB``, JOB being JSON.
"""

import sys
from typing import Any

import orjson

from apportion.base import ApportionError
from apportion.bench.api import run_api_workload
from apportion.bench.core import run_workload
from apportion.bench.jobs import run_job
from apportion.bench.workloads import api_workloads, core_workloads


def _report(done: int, total: int) -> None:
    print(f"progress {done} {total}", file=sys.stderr, flush=True)


def _run(mode: str, name: str, seed: str) -> dict[str, Any]:
    workloads, run = (api_workloads, run_api_workload) if mode == "api" else (core_workloads, run_workload)
    workload = next(w for w in workloads() if w.name == name)
    return run(workload, int(seed), _report).to_json()


def main() -> int:
    """Print the measurement as JSON on stdout, progress on stderr."""
    try:
        found = run_job(sys.argv[2], _report) if sys.argv[1] == "file" else _run(*sys.argv[1:4])
    except ApportionError as error:
        print(f"error {error}".replace("\n", " "), file=sys.stderr)
        return 1
    sys.stdout.buffer.write(orjson.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
