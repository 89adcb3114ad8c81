"""Allocates claims without scheduling pods: how a workload begins with a cluster that is half full."""

import uuid
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import orjson

from apportion.alloc import Allocator, ClaimInput, DeviceTable, Features
from apportion.api.kinds import Tree
from apportion.api.resource import DeviceClass, ResourceClaim, ResourceSlice
from apportion.bench.measurement import BenchError
from apportion.client import MERGE_PATCH, Request

_FINALIZER: Final = "resource.kubernetes.io/delete-protection"


class ClaimFiller:
    """Gives claims devices of one node after the other, in order; a node is left when it has no more."""

    def __init__(self, features: Features, nodes: Sequence[Tree], classes: list[Tree], slices: list[Tree]) -> None:
        self._table = DeviceTable(features)
        self._names = [n["metadata"]["name"] for n in nodes]
        for node in nodes:
            self._table.set_node(node["metadata"]["name"], node["metadata"].get("labels") or {})
        for tree in classes:
            self._table.apply_class(msgspec.convert(tree, DeviceClass))
        for tree in slices:
            self._table.apply_slice(msgspec.convert(tree, ResourceSlice))
        self._allocator = Allocator(self._table)
        self._specs: dict[bytes, int] = {}
        self._shares = 0

    def fill(self, claims: Sequence[Tree]) -> Iterator[Request]:
        """Yield requests that allocate the claims that are not yet. Raises BenchError when one fits nowhere."""
        at = 0
        for tree in claims:
            if (tree.get("status") or {}).get("allocation"):
                continue
            meta = tree["metadata"]
            raw = orjson.dumps(tree["spec"])
            spec_id = self._specs.setdefault(raw, len(self._specs))
            claim = msgspec.convert(tree, ResourceClaim)
            given = ClaimInput(meta["uid"], meta["namespace"], meta["name"], claim.spec, spec_id)
            problem = self._allocator.prepare([given])
            while at < len(self._names) and not self._allocator.judge(problem, self._names[at]).fits:
                at += 1
            if at == len(self._names):
                raise BenchError(f"allocResourceClaims: claim {meta['name']} fits on no node")
            (allocation,) = self._allocator.allocate(problem, self._names[at], self._make_share_id)
            self._table.take(meta["uid"], allocation)
            yield from _write(meta, orjson.loads(msgspec.json.encode(allocation)))

    def _make_share_id(self) -> str:
        self._shares += 1
        return str(uuid.UUID(int=self._shares))


def _write(meta: Tree, allocation: Tree) -> Iterator[Request]:
    for subresource, patch in (
        ("", {"metadata": {"finalizers": [_FINALIZER]}}),
        ("status", {"status": {"allocation": allocation}}),
    ):
        body = orjson.dumps(patch)
        yield Request("patch", "resourceclaims", meta["namespace"], meta["name"], body, subresource, MERGE_PATCH)
