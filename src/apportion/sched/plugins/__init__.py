"""One file a plugin; none imports another. See README.md."""

from apportion.sched.plugins.claim_metrics import ClaimMetrics
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.node_plugin import NodePlugin, NodeView
from apportion.sched.plugins.own import find_own
from apportion.sched.plugins.registry import GATED, IN_TREE

__all__ = ["GATED", "IN_TREE", "ClaimMetrics", "Handle", "NodePlugin", "NodeView", "find_own"]
