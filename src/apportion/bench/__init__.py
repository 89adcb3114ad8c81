"""Benchmarks in the shapes of Kubernetes' scheduler_perf. See README.md."""

from apportion.bench.measurement import BenchError, Measurement
from apportion.bench.workloads import Workload, api_workloads, core_workloads

__all__ = ["BenchError", "Measurement", "Workload", "api_workloads", "core_workloads"]
