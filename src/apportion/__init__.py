"""A Kubernetes scheduler with Dynamic Resource Allocation that explains every decision."""

__version__ = "0.1.0"
