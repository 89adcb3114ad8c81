"""Runs one workload in a process of its own, so that its memory is its own.

Called as ``python -m apportion.bench MODE NAME SEED``.
"""

import sys

import orjson

from apportion.base import ApportionError
from apportion.bench.api import run_api_workload
from apportion.bench.core import run_workload
from apportion.bench.workloads import api_workloads, core_workloads


def _report(done: int, total: int) -> None:
    print(f"progress {done} {total}", file=sys.stderr, flush=True)


def main() -> int:
    """Print the measurement as JSON on stdout, progress on stderr."""
    mode, name, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    workloads, run = (api_workloads, run_api_workload) if mode == "api" else (core_workloads, run_workload)
    workload = next(w for w in workloads() if w.name == name)
    try:
        measured = run(workload, seed, _report)
    except ApportionError as e:
        print(f"error {e}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(orjson.dumps(measured.to_json()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
