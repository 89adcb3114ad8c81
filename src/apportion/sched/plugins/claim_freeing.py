"""Making room for a pod that fits nowhere by giving up what its own claims have.

Behaviour: PostFilter of plugins/dynamicresources.
"""

from apportion.api.selectors import compile_node_selector
from apportion.api.view import NodeSelector
from apportion.sched.framework import DeallocateClaim, PostFilterResult, unschedulable
from apportion.sched.plugins.binding_conditions import BindingConditions
from apportion.sched.plugins.claim_lookup import find_claims
from apportion.sched.plugins.extended_writes import delete_claim
from apportion.sched.state import ClusterState, PodInfo


def free_claims(state: ClusterState, conditions: BindingConditions, pod: PodInfo, plugin: str) -> PostFilterResult:
    """Free one allocated claim of the pod that nobody else uses, to place it anew.

    It must be one that some node cannot use, or whose devices could not be made ready. A claim for extended resources
    that an earlier attempt left over is deleted.
    """
    left_over = state.claims.find_extended(pod.uid)
    if left_over is not None:
        status = unschedulable(plugin, "deletion of ResourceClaim completed")
        return PostFilterResult(status, commands=tuple(delete_claim(left_over)))
    for claim in find_claims(state, pod).claims:
        if claim.allocation is None or any(r.uid != pod.uid for r in claim.status.reserved_for):
            continue
        if conditions.has_failed(claim) or _is_shut_out(state, claim.allocation.node_selector):
            meta = claim.meta
            command = DeallocateClaim(meta.namespace, meta.name, meta.uid, meta.resource_version)
            status = unschedulable(plugin, "deallocation of ResourceClaim completed")
            return PostFilterResult(status, commands=(command,))
    return PostFilterResult(unschedulable(plugin, "still not schedulable"))


def _is_shut_out(state: ClusterState, selector: NodeSelector | None) -> bool:
    """Return whether some node cannot use a claim whose allocation has this selector."""
    if selector is None:
        return False
    matcher = compile_node_selector(selector)
    return any(
        view is not None and not matcher.matches(view.metadata.name, view.metadata.labels) for view in state.nodes.views
    )
