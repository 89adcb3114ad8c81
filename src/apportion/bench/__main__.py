"""Runs one workload in a process of its own, so that its memory is its own: ``python -m apportion.bench NAME``."""

import sys

import orjson

from apportion.base import ApportionError
from apportion.bench.core import run_workload
from apportion.bench.workloads import core_workloads


def _report(done: int, total: int) -> None:
    print(f"progress {done} {total}", file=sys.stderr, flush=True)


def main() -> int:
    """Print the measurement as JSON on stdout, progress on stderr."""
    name, seed = sys.argv[1], int(sys.argv[2])
    workload = next(w for w in core_workloads() if w.name == name)
    try:
        measured = run_workload(workload, seed, _report)
    except ApportionError as e:
        print(f"error {e}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(orjson.dumps(measured.to_json()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
