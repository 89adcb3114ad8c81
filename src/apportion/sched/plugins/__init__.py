"""One file a plugin; none imports another. See README.md."""

from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.registry import IN_TREE, NOT_INCLUDED

__all__ = ["IN_TREE", "NOT_INCLUDED", "Handle"]
