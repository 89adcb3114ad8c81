"""The ResourceClaim controller: claims for pods from templates, and claims that are not needed any more.

Behaviour: kube-controller-manager's resourceclaim controller.
"""

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Final

import msgspec
import orjson
from msgspec import Raw

from apportion.api.core import PodResourceClaim
from apportion.api.identity import claim_name_prefix
from apportion.api.resource import ResourceClaimConsumerReference
from apportion.base import Clock, Rng
from apportion.client import (
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Request,
    Response,
    Task,
    Transport,
    Watches,
    is_unknown,
    run_task,
)
from apportion.controllers.claim_views import (
    DECODE_CLAIM,
    DECODE_POD,
    DECODE_TEMPLATE,
    FINALIZER,
    POD_CLAIM_NAME,
    ClaimIndex,
    ClaimView,
    PodView,
    TemplateView,
    to_tree,
)
from apportion.controllers.event_recorder import EventRecorder, Subject
from apportion.controllers.gone import SeenUids
from apportion.controllers.steps import Steps
from apportion.controllers.work_queue import WorkQueue

CLAIMS: Final = "resourceclaims"
FAILURES_MAX: Final = 1000
_OK: Final = range(200, 300)
_NOT_FOUND, _CONFLICT = 404, 409
Key = tuple[str, str]  # "pod" or "claim", and namespace/name


class _Frame(msgspec.Struct, gc=False):
    type: str
    object: Raw


_FRAME: Final = msgspec.json.Decoder(_Frame).decode


class ResourceClaimController:
    """Watches pods, claims and templates. Driven by ``work``; its requests go through the transport."""

    def __init__(self, transport: Transport, clock: Clock, rng: Rng) -> None:
        self._transport = Watches(transport)
        self._rng = rng
        self._recorder = EventRecorder(clock, rng.fork("events"), "resource_claim")
        self.index = ClaimIndex()
        # names under which claims may exist by now, by the pod's uid and the entry: no answer came
        self._open_names: dict[str, dict[str, str]] = {}
        self._gone = SeenUids()  # pods that the watch has shown to be gone
        self.queue: WorkQueue[Key] = WorkQueue(clock)
        self.failures: deque[str] = deque(maxlen=FAILURES_MAX)  # the last ones, for whoever wants to look

    @property
    def has_synced(self) -> bool:
        """Whether everything that existed at the start is known."""
        return self._transport.has_synced

    def start(self) -> None:
        """Watch everything the controller reads; templates and claims before the pods that refer to them."""
        self._transport.watch("resourceclaimtemplates", self._on_template)
        self._transport.watch(CLAIMS, self._on_claim)
        self._transport.watch("pods", self._on_pod)

    def work(self) -> bool:
        """Start the work on one key. False when nothing is due."""
        key = self.queue.take() if self._transport.has_synced else None
        if key is None:
            return False
        kind, name = key
        task = self._sync_pod(name) if kind == "pod" else self._sync_claim(name)
        run_task(self._transport, task, self._finish(key))
        return True

    def _finish(self, key: Key) -> Callable[[str | None], None]:
        def finish(problem: str | None) -> None:
            if problem is not None:
                self.failures.append(f"{key[0]} {key[1]}: {problem}")
            self.queue.finish(key, problem is not None)

        return finish

    # ---- what the API says --------------------------------------------------------------------------------

    def _on_template(self, frame: bytes) -> None:
        event = _FRAME(frame)
        template = DECODE_TEMPLATE(event.object)
        key = template.metadata.key
        if event.type == "DELETED":
            self.index.templates.pop(key, None)
            return
        self.index.templates[key] = template
        for pod in self.index.pods_waiting_for(key):
            self.queue.add(("pod", pod))

    def _on_claim(self, frame: bytes) -> None:
        event = _FRAME(frame)
        claim = DECODE_CLAIM(event.object)
        key = claim.metadata.key
        if event.type == "DELETED":
            known = self.index.claims.get(key, claim)  # a deletion that the watch missed comes without an owner
            self.index.remove_claim(key)
            owner = known.metadata.controller
            if owner is not None and owner.kind == "Pod":
                self.queue.add(("pod", f"{claim.metadata.namespace}/{owner.name}"))
            return
        self.index.set_claim(claim)
        self.queue.add(("claim", key))

    def _on_pod(self, frame: bytes) -> None:
        event = _FRAME(frame)
        pod = DECODE_POD(event.object)
        key, namespace = pod.metadata.key, pod.metadata.namespace
        known = self.index.pods.get(key)
        if event.type == "DELETED" and known is not None and known.metadata.uid == pod.metadata.uid:
            pod = known  # a deletion that the watch missed comes without a spec
        if not (pod.spec.resource_claims or pod.extended_claim or self.index.owned_by(pod)):
            return
        if known is not None and known.metadata.uid != pod.metadata.uid:  # made anew: the old one's claims are free
            for claim in self.index.owned_by(known):
                self.queue.add(("claim", claim.metadata.key))
        if event.type == "DELETED":
            self._gone.add(pod.metadata.uid)
            self.index.pods.pop(key, None)
            self._open_names.pop(pod.metadata.uid, None)
        else:
            self.index.pods[key] = pod
            self.queue.add(("pod", key))
        if event.type == "DELETED" or pod.is_done:
            for name in self.index.names_of(pod):
                self.queue.add(("claim", f"{namespace}/{name}"))
            for claim in self.index.owned_by(pod):
                self.queue.add(("claim", claim.metadata.key))

    # ---- pods ---------------------------------------------------------------------------------------------

    def _sync_pod(self, key: str) -> Task:
        """Make the claims that the pod's templates ask for, and record their names in the pod's status."""
        pod = self.index.pods.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None or pod.is_done:
            return None
        names: dict[str, str] = {}
        for entry in pod.spec.resource_claims:
            if entry.resource_claim_template_name is None:
                continue
            is_recorded = yield from self._is_recorded(pod, entry.name)
            if isinstance(is_recorded, str):
                return is_recorded
            if is_recorded:
                continue
            problem = yield from self._provide(pod, entry, names)
            if problem is not None:
                yield from self._tell(pod, f"PodResourceClaim {entry.name}: {problem}")
                return problem
        if names:
            problem = yield from self._record(pod, names)
            if problem is not None:
                return problem
        if pod.spec.node_name:
            return (yield from self._reserve_all(pod))
        return None

    def _is_recorded(self, pod: PodView, entry: str) -> Generator[Request, Response, bool | str]:
        """Return whether the pod's status names the claim of an entry, or says that there is none; or what went wrong.

        A claim that the watch has not brought is asked for: it may be late.
        """
        recorded = pod.find_recorded(entry)
        if recorded is None or recorded.resource_claim_name is None:
            return recorded is not None
        claim = self.index.claims.get(f"{pod.metadata.namespace}/{recorded.resource_claim_name}")
        if claim is None:
            response = yield Request("get", CLAIMS, pod.metadata.namespace, recorded.resource_claim_name)
            if response.code == _NOT_FOUND:
                return False
            if response.code not in _OK:
                return f"get claim: {response.message}"
            claim = DECODE_CLAIM(response.body)
        return claim.is_owned_by(pod)

    def _provide(self, pod: PodView, entry: PodResourceClaim, names: dict[str, str]) -> Task:
        """Adopt the claim that was made for the entry already, or create it from the template."""
        for claim in self.index.owned_by(pod):
            if claim.metadata.annotations.get(POD_CLAIM_NAME) == entry.name:
                names[entry.name] = claim.metadata.name
                return None
        template = self.index.templates.get(f"{pod.metadata.namespace}/{entry.resource_claim_template_name}")
        if template is None:
            name = entry.resource_claim_template_name
            return f'resource claim template "{name}": resourceclaimtemplate.resource.k8s.io "{name}" not found'
        response = yield from self._create(pod, self._make_claim(pod, entry.name, template), entry.name)
        if response.code not in _OK:
            return f"create claim: {response.message}"
        created = DECODE_CLAIM(response.body)
        self.index.set_claim(created)  # the watch may bring it later than the pod comes back
        names[entry.name] = created.metadata.name
        return None

    def _create(self, pod: PodView, body: dict[str, Any], entry: str) -> Generator[Request, Response, Response]:
        """Create a claim; one whose answer was lost is found again under the same name the next time."""
        open_names = self._open_names.setdefault(pod.metadata.uid, {})
        name = body["metadata"]["name"] = open_names.setdefault(entry, body["metadata"]["name"])
        response = yield Request("create", CLAIMS, pod.metadata.namespace, "", orjson.dumps(body))
        if response.code == _CONFLICT:
            found = yield Request("get", CLAIMS, pod.metadata.namespace, name)
            is_ours = found.code in _OK and DECODE_CLAIM(found.body).is_owned_by(pod)
            response = found if is_ours or is_unknown(found.code) else response
        if not is_unknown(response.code):
            del open_names[entry]
        if not open_names:
            self._open_names.pop(pod.metadata.uid, None)
        return response

    def _make_claim(self, pod: PodView, entry: str, template: TemplateView) -> dict[str, Any]:
        prefix = claim_name_prefix(pod.metadata.name, entry)
        made = template.spec.metadata
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod.metadata.name,
            "uid": pod.metadata.uid,
            "controller": True,
        }
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "name": prefix + self._rng.suffix(),
                "generateName": prefix,
                "namespace": pod.metadata.namespace,
                "labels": dict(made.labels),
                "annotations": {**made.annotations, POD_CLAIM_NAME: entry},
                "ownerReferences": [owner],
            },
            "spec": to_tree(template.spec.spec),
        }

    def _record(self, pod: PodView, names: dict[str, str]) -> Task:
        kept = [s for s in pod.status.resource_claim_statuses if s.name not in names]
        entries = [{"name": s.name, "resourceClaimName": s.resource_claim_name} for s in kept]
        entries += [{"name": entry, "resourceClaimName": name} for entry, name in names.items()]
        body = {"metadata": {"uid": pod.metadata.uid}, "status": {"resourceClaimStatuses": entries}}
        meta = pod.metadata
        response = yield Request("patch", "pods", meta.namespace, meta.name, orjson.dumps(body), "status", MERGE_PATCH)
        return None if response.code in _OK else f"record claims in the pod's status: {response.message}"

    def _reserve_all(self, pod: PodView) -> Task:
        """Reserve allocated claims for a pod that got its node without the scheduler."""
        for name in self.index.names_of(pod):
            claim = self.index.claims.get(f"{pod.metadata.namespace}/{name}")
            if claim is None or not claim.is_allocated or claim.is_reserved_for(pod):
                continue
            reference = {"resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid}
            problem = yield from self._patch(claim, {"status": {"reservedFor": [reference]}}, "status")
            if problem is not None:
                return problem
        return None

    def _tell(self, pod: PodView, message: str) -> Steps[None]:
        meta = pod.metadata
        subject = Subject("v1", "Pod", meta.namespace, meta.name, meta.uid, meta.resource_version)
        return self._recorder.record(subject, "Warning", "FailedResourceClaimCreation", message)

    # ---- claims -------------------------------------------------------------------------------------------

    def _sync_claim(self, key: str) -> Task:
        """Drop reservations of pods that are gone or done; free the devices with the last one."""
        claim = self.index.claims.get(key)
        if claim is None:
            return None
        stale = []
        for reference in claim.status.reserved_for:
            needed = yield from self._is_needed(claim, reference)
            if needed is None:
                stale.append({"$patch": "delete", "uid": reference.uid})
        valid = len(claim.status.reserved_for) - len(stale)
        protected = FINALIZER in claim.metadata.finalizers
        problem = None
        # a claim with the finalizer and no reservation may be one that the scheduler is about to allocate
        is_released = not valid and (bool(claim.status.reserved_for) or claim.metadata.deletion_timestamp is not None)
        if stale:
            status: dict[str, Any] = {"reservedFor": stale if valid else None}
            if not valid and protected:
                status["allocation"] = None
            problem = yield from self._patch(claim, {"status": status}, "status")
        elif protected and is_released and claim.is_allocated:
            problem = yield from self._patch(claim, {"status": {"allocation": None}}, "status")
        if problem is not None:
            return problem
        return (yield from self._let_go(key, bool(valid), is_released))

    def _is_needed(
        self, claim: ClaimView, reference: ResourceClaimConsumerReference
    ) -> Generator[Request, Response, PodView | ResourceClaimConsumerReference | None]:
        """Return who still needs the claim, None if nobody does; kinds that we do not know are left alone.

        A pod that the watch has not brought is asked for: it may be too new to be known.
        """
        if reference.resource != "pods" or reference.api_group:
            return reference
        if reference.uid in self._gone:
            return None
        namespace = claim.metadata.namespace
        pod = self.index.pods.get(f"{namespace}/{reference.name}")
        if pod is None or pod.metadata.uid != reference.uid:
            response = yield Request("get", "pods", namespace, reference.name)
            if response.code == _NOT_FOUND:
                return None
            if response.code not in _OK:
                return reference  # not known: better kept for now
            pod = DECODE_POD(response.body)
        return pod if pod.metadata.uid == reference.uid and not pod.is_done else None

    def _let_go(self, key: str, is_used: bool, is_released: bool) -> Task:
        """Remove the finalizer of a released claim, and delete one that was made for a pod that is done."""
        claim = self.index.claims.get(key)
        if claim is None or is_used:
            return None
        meta = claim.metadata
        if is_released and FINALIZER in meta.finalizers and not claim.is_allocated:
            problem = yield from self._patch(
                claim, {"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}}, ""
            )
            if problem is not None:
                return problem
        owner = meta.controller
        if owner is None or owner.kind != "Pod" or meta.deletion_timestamp is not None:
            return None
        pod = self.index.pods.get(f"{meta.namespace}/{owner.name}")
        if pod is not None and (pod.metadata.uid != owner.uid or pod.is_done):
            body = {"preconditions": {"uid": meta.uid}}
            response = yield Request("delete", CLAIMS, meta.namespace, meta.name, orjson.dumps(body))
            if response.code not in _OK and response.code != _NOT_FOUND:
                return f"delete claim: {response.message}"
        return None

    def _patch(self, claim: ClaimView, patch: dict[str, Any], subresource: str) -> Task:
        """Patch the claim as it was read: anything newer is a conflict, and the claim is looked at again.

        Lists are merged by their keys, so that entries of others stay as they were written.
        """
        meta = claim.metadata
        guard = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        body = {**patch, "metadata": {**guard, **patch.get("metadata", {})}}
        request = Request(
            "patch", CLAIMS, meta.namespace, meta.name, orjson.dumps(body), subresource, STRATEGIC_MERGE_PATCH
        )
        response = yield request
        if response.code == _NOT_FOUND:
            return None
        if response.code not in _OK:
            return f"patch claim: {response.message}"
        self.index.set_claim(DECODE_CLAIM(response.body))
        return None
