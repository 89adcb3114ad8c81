"""Rows about whose a claim is: who made it, who may use it, and what it is called in the pod.

A row: ``owners`` (references of the claim, P and U stand for the pod and its uid) with ``owned``; ``users``
(uid/name/resource/group of reservedFor) with ``reserved``; or ``entries`` (spec) and ``made`` (status) of a pod with
``finds`` (names of claims) or ``problem``. Scheduler and claim controller must say the same.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from dra_case_rows import Tree

from apportion.controllers.claim_views import DECODE_CLAIM, DECODE_POD, ClaimIndex
from apportion.sched.plugins.claim_lookup import find_claims
from apportion.sched.state import ClusterState

POD, UID = "p", "uid-p"


def _pod(entries: list[Tree], made: list[Tree]) -> Tree:
    meta = {"name": POD, "namespace": "default", "uid": UID}
    spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": entries}
    return {"metadata": meta, "spec": spec, "status": {"resourceClaimStatuses": made}}


def _claim(name: str = "c", owners: tuple[Tree, ...] = (), users: tuple[Tree, ...] = ()) -> bytes:
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "ownerReferences": owners}
    return msgspec.json.encode({"metadata": meta, "spec": {}, "status": {"reservedFor": users}})


def find_claim_problems(row: Mapping[str, Any]) -> list[str]:
    """Run a row; return what is not as expected."""
    run = _run_owners if "owned" in row else _run_users if "reserved" in row else _run_names
    return [f"expected {wanted!r}, {who} says {found!r}" for who, wanted, found in run(row) if wanted != found]


def _run_owners(row: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    pod = _pod([{"name": "g", "resourceClaimTemplateName": "t"}], [{"name": "g", "resourceClaimName": "c"}])
    default = {"apiVersion": "v1", "kind": "Pod", "name": POD, "uid": UID, "controller": True}
    raw = _claim(owners=tuple({**default, **o} for o in row["owners"]))
    yield "controller", row["owned"], DECODE_CLAIM(raw).is_owned_by(DECODE_POD(msgspec.json.encode(pod)))
    state = ClusterState()
    state.claims.apply(state.claims.read(raw))
    problem = find_claims(state, state.reader.read_tree(pod)).problem
    yield "scheduler", row["owned"], problem is None
    if problem is not None:
        wanted = "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)"
        yield "scheduler", wanted, problem


def _run_users(row: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    default = {"resource": "pods", "name": POD, "uid": UID}
    raw = _claim(users=tuple({**default, **u} for u in row["users"]))
    yield (
        "controller",
        row["reserved"],
        DECODE_CLAIM(raw).is_reserved_for(DECODE_POD(msgspec.json.encode(_pod([], [])))),
    )
    yield "scheduler", row["reserved"], ClusterState().claims.read(raw).is_reserved_for(UID)


def _run_names(row: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    pod = _pod(row["entries"], row.get("made", []))
    state = ClusterState()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": POD, "uid": UID, "controller": True}
    for name in row.get("exist", ["c", "d"]):
        state.claims.apply(state.claims.read(_claim(name, (owner,))))
    found = find_claims(state, state.reader.read_tree(pod))
    yield "scheduler", row.get("problem"), found.problem
    if "finds" in row:
        yield "scheduler", row["finds"], [c.meta.name for c in found.claims]
        yield "controller", row["finds"], ClaimIndex().names_of(DECODE_POD(msgspec.json.encode(pod)))
