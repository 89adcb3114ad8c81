"""Admission with the objects of the store: the classes and namespaces that decide about others."""

from typing import Final

import orjson

from apportion.api import AdmissionContext, Kind, NameGenerator, Tree, admit_fields
from apportion.api.pod_admission import add_default_tolerations
from apportion.base import Clock, Rng, ValidationError
from apportion.server import errors
from apportion.server.resources import Resource
from apportion.server.service_addresses import assign_addresses
from apportion.server.timestamps import format_time
from apportion.store import Key, Store

_DECIDING: Final = (
    "priorityclasses.scheduling.k8s.io",
    "runtimeclasses.node.k8s.io",
    "namespaces",
    "storageclasses.storage.k8s.io",
)
_OFFLINE_ADVICE: Final = "; add it to the input"
_ATTEMPTS_MAX: Final = 8
_KEPT_BY_PODS: Final = ("priority", "preemptionPolicy")


class Admission:
    """Names, dates and completes new objects. What it read of the deciding objects is kept until one changes."""

    def __init__(self, store: Store, clock: Clock, rng: Rng) -> None:
        self._store = store
        self._clock = clock
        self._rng = rng
        self._context: AdmissionContext | None = None

    def forget(self, storage: str) -> None:
        """Take note that objects of a kind changed."""
        if storage in _DECIDING:
            self._context = None

    def forget_all(self) -> None:
        """Take note that the store has taken commits back."""
        self._context = None

    def admit_new(self, tree: Tree, resource: Resource) -> Tree:
        """Return a valid new object with name, uid, date and what admission adds; raises ApiError 403."""
        tree = self._fill_name(tree, resource)
        name = tree["metadata"]["name"]
        try:
            done = admit_fields(tree, resource.kind, self._get_context())
        except ValidationError as error:
            if error.detail.startswith("Forbidden: "):  # a rule about a field, wherever it is checked
                raise errors.invalid(resource.group, resource.kind.name, name, [error]) from None
            why = error.detail.removesuffix(_OFFLINE_ADVICE)
            raise errors.forbidden(resource.group, resource.plural, name, why) from None
        if resource.storage == "services":
            done = assign_addresses(done, self._store, self._rng)
        # drawn, not derived from the name: an object that comes again is another object
        now = format_time(self._clock.now())
        return {**done, "metadata": {**done["metadata"], "uid": self._rng.uid(), "creationTimestamp": now}}

    def admit_update(self, tree: Tree, old: Tree, kind: Kind) -> Tree:
        """Return an updated object with what admission adds to updates too.

        A pod that says nothing of its priority keeps it, so that a client may send the manifest again.
        """
        if kind.name == "Pod" and isinstance(tree.get("spec"), dict):
            before = old.get("spec") or {}
            kept = {n: before[n] for n in _KEPT_BY_PODS if tree["spec"].get(n) is None and n in before}
            return {**tree, "spec": add_default_tolerations({**tree["spec"], **kept})}
        if kind.name == "Service":
            return assign_addresses(tree, self._store, self._rng)
        return tree

    def check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        """Raise ApiError 404 when a namespace does not exist, 403 when it is being deleted."""
        entry = self._store.find(Key("namespaces", "", namespace))
        if entry is None:
            raise errors.not_found("", "namespaces", namespace)
        if b'"deletionTimestamp"' in entry.value and orjson.loads(entry.value)["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            text = f"namespace {namespace} is being terminated"
            cause = {"reason": "NamespaceTerminating", "message": text, "field": "metadata.namespace"}
            raise errors.forbidden(resource.group, resource.plural, name, why, [cause])

    def _fill_name(self, tree: Tree, resource: Resource) -> Tree:
        metadata = tree["metadata"]
        if metadata.get("name") or not metadata.get("generateName"):
            return tree
        prefix = metadata["generateName"][:58]
        for _ in range(_ATTEMPTS_MAX):
            name = prefix + self._rng.suffix()
            if self._store.find(Key(resource.storage, metadata.get("namespace", ""), name)) is None:
                return {**tree, "metadata": {"name": name, **metadata}}
        raise errors.already_exists(resource.group, resource.plural, name)

    def _get_context(self) -> AdmissionContext:
        if self._context is None:
            entries = (e for storage in _DECIDING for e in self._store.list_entries(storage))
            trees = (orjson.loads(e.value) for e in entries)
            names = NameGenerator(self._rng.fork("unused"))  # names are filled in before
            self._context = AdmissionContext.from_trees(trees, names, format_time(self._clock.now()))
        return self._context
