"""Which claims a pod uses, and what keeps it from using them."""

from msgspec import Struct

from apportion.sched.state import ClaimInfo, ClusterState, PodInfo


class PodClaims(Struct, frozen=True):
    """The claims of a pod in the order of its spec, or the text of what is wrong with one of them."""

    claims: tuple[ClaimInfo, ...]
    problem: str | None = None


def find_claims(state: ClusterState, pod: PodInfo) -> PodClaims:
    """Look up every claim of ``pod``. Behaviour: resourceclaim.Name and foreachPodResourceClaim, with their texts."""
    found: list[ClaimInfo] = []
    for entry in pod.kind.template.spec.resource_claims:
        name = entry.resource_claim_name
        generated = name is None
        if generated:
            if entry.resource_claim_template_name is None:
                return PodClaims(
                    (),
                    f'pod "{pod.key}", spec.resourceClaim {entry.name}: none of the supported fields are set',
                )
            for status in pod.claim_statuses:
                if status.name == entry.name:
                    break
            else:
                return PodClaims((), f'pod "{pod.key}": ResourceClaim not created yet')
            name = status.resource_claim_name
            if name is None:
                continue  # decided that no claim is needed
        claim = state.claims.find(f"{pod.namespace}/{name}")
        problem = _problem(pod, name or "", claim, generated)
        if claim is None or problem is not None:
            return PodClaims((), problem)
        found.append(claim)
    return PodClaims(tuple(found))


def name_claims(pod: PodInfo) -> tuple[str, ...]:
    """Return the keys of the claims that the pod names, as far as they are decided, each once."""
    entries = pod.kind.template.spec.resource_claims
    if not entries:
        return ()
    made = {s.name: s.resource_claim_name for s in pod.claim_statuses}
    names = [e.resource_claim_name or made.get(e.name) for e in entries]
    keys = [f"{pod.namespace}/{name}" for name in names if name]
    return tuple(dict.fromkeys(keys)) if len(keys) > 1 else tuple(keys)


def _problem(pod: PodInfo, name: str, claim: ClaimInfo | None, generated: bool) -> str | None:
    if claim is None:
        return f'could not find ResourceClaim "{pod.namespace}/{name}"'
    if claim.meta.deletion_timestamp is not None:
        return f'resourceclaim "{name}" is being deleted'
    if generated:
        owner = claim.find_controller()
        if owner is None or owner.uid != pod.uid:
            return f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)"
    return None
