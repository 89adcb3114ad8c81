"""Benchmarks in the shapes of Kubernetes' scheduler_perf. See README.md."""

from apportion.bench.core import BenchError, Measurement, run_workload
from apportion.bench.workloads import Workload, core_workloads

__all__ = ["BenchError", "Measurement", "Workload", "core_workloads", "run_workload"]
