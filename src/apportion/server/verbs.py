"""What each method on a path does: the requests of one resource, from the parsed path to the answer."""

from collections.abc import Callable
from typing import Final, TypeAlias

import orjson
from msgspec.structs import replace

from apportion.api import Tree
from apportion.api.defaults import DEFAULT_NAMESPACE
from apportion.server import errors
from apportion.server.bodies import Strictness, decode_object, parse_body, parse_dry_run
from apportion.server.deletion import DeleteOptions, delete_object
from apportion.server.deprecation import list_deprecations, print_warning
from apportion.server.eviction import evict_pod
from apportion.server.formats import parse_accept, render_list, render_object
from apportion.server.lists import list_page
from apportion.server.objects import Objects
from apportion.server.patching import apply_patch, canonicalize_patched
from apportion.server.request import CONTAINER_DOORS, ApiRequest, ApiResponse, Parameters, Target
from apportion.server.schema import Shape
from apportion.server.strategies import list_warnings
from apportion.server.subresources import (
    bind_pod,
    encode_scale,
    finalize_namespace,
    get_scale,
    refuse_container,
    update_scale,
)
from apportion.server.tables import Printer
from apportion.server.versions import to_served, to_stored

_Verb: TypeAlias = Callable[[ApiRequest, Target, Parameters], ApiResponse]
_ANYTHING: Final = Shape("*")
_SUCCESS: Final[Tree] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


class Verbs:
    """Answers requests that name a resource; raises ApiError."""

    def __init__(self, objects: Objects, printer: Printer) -> None:
        self._objects = objects
        self._printer = printer
        # (method, whether the path names an object, subresource)
        self._table: dict[tuple[str, bool, str], _Verb] = {
            ("GET", False, ""): self._list,
            ("POST", False, ""): self._create,
            ("DELETE", False, ""): self._delete_collection,
            ("GET", True, ""): self._get,
            ("PUT", True, ""): self._update,
            ("PATCH", True, ""): self._patch,
            ("DELETE", True, ""): self._delete,
            ("GET", True, "status"): self._get,
            ("PUT", True, "status"): self._update,
            ("PATCH", True, "status"): self._patch,
            ("GET", True, "resize"): self._get,
            ("PUT", True, "resize"): self._update,
            ("PATCH", True, "resize"): self._patch,
            ("POST", True, "binding"): self._bind,
            ("POST", True, "eviction"): self._evict,
            ("PUT", True, "finalize"): self._finalize,
            ("GET", True, "scale"): self._get_scale,
            ("PUT", True, "scale"): self._update_scale,
            ("PATCH", True, "scale"): self._patch_scale,
        }

    def answer(self, request: ApiRequest, target: Target) -> ApiResponse:
        """Carry a request out."""
        if target.subresource in CONTAINER_DOORS:
            raise refuse_container(self._objects, target)
        verb = self._table.get((request.method, bool(target.name), target.subresource))
        if verb is None or (verb == self._delete_collection and "deletecollection" not in target.resource.verbs):
            raise errors.method_not_allowed()
        deprecations = list_deprecations(target.resource)
        try:
            response = verb(request, target, Parameters.parse(request.query))
        except errors.ApiError as error:
            error.headers = (*deprecations, *error.headers)
            raise
        return replace(response, headers=(*deprecations, *response.headers)) if deprecations else response

    # ---- reading ------------------------------------------------------------------------------------------

    def _get(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        form = parse_accept(request.accept)
        raw = self._objects.get_entry(target).value
        return ApiResponse(200, render_object(raw, target.resource, form, self._printer))

    def _list(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        form = parse_accept(request.accept)
        page = list_page(self._objects.store, target, parameters)
        return ApiResponse(200, render_list(page.raws, page.metadata, target.resource, form, self._printer))

    # ---- writing ------------------------------------------------------------------------------------------

    def _create(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        resource = target.resource
        dry_run = parse_dry_run(parameters, "CreateOptions")
        strictness = Strictness.parse(parameters, "CreateOptions")
        tree = decode_object(request.body, request.content_type, resource, strictness)
        metadata = tree["metadata"]
        if metadata.get("resourceVersion"):
            raise errors.bad_request("resourceVersion should not be set on objects to be created")
        if resource.kind.namespaced:
            namespace = target.namespace or metadata.get("namespace") or DEFAULT_NAMESPACE
            _check_namespace(metadata, namespace)
            self._objects.admission.check_namespace(resource, namespace, metadata.get("name", ""))
            tree["metadata"] = {**metadata, "namespace": namespace}
        with strictness:
            stored = self._objects.create(to_stored(tree, resource), resource, dry_run)
        return self._render(201, request, target, stored.tree, stored.raw, strictness)

    def _update(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        dry_run = parse_dry_run(parameters, "UpdateOptions")
        strictness = Strictness.parse(parameters, "UpdateOptions")
        new = decode_object(request.body, request.content_type, target.resource, strictness)
        _check_name(new, target)
        old = self._objects.get(target)
        uid = new["metadata"].get("uid")
        if uid and uid != old["metadata"]["uid"]:
            resource = target.resource
            raise errors.wrong_uid(
                resource.group, resource.plural, target.namespace, target.name, uid, old["metadata"]["uid"]
            )
        with strictness:
            stored = self._objects.update(target, to_stored(new, target.resource), old, dry_run)
        return self._render(200, request, target, stored.tree, stored.raw, strictness)

    def _patch(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        dry_run = parse_dry_run(parameters, "PatchOptions")
        strictness = Strictness.parse(parameters, "PatchOptions")
        resource = target.resource
        old = self._objects.get(target)
        served = to_served(old, resource)
        patched = apply_patch(served, request.body, request.content_type, resource.shape)
        new = canonicalize_patched(patched, served, resource, strictness)
        _check_name(new, target)
        with strictness:
            stored = self._objects.update(target, to_stored(new, resource), old, dry_run)
        return self._render(200, request, target, stored.tree, stored.raw, strictness)

    def _render(
        self, code: int, request: ApiRequest, target: Target, tree: Tree, raw: bytes, strictness: Strictness
    ) -> ApiResponse:
        form = parse_accept(request.accept)
        headers = (*strictness.headers, *(print_warning(w) for w in list_warnings(tree, target.resource.kind)))
        return ApiResponse(code, render_object(raw, target.resource, form, self._printer), headers=headers)

    # ---- deleting -----------------------------------------------------------------------------------------

    def _delete(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        options = DeleteOptions.parse(request, parameters)
        deletion = delete_object(self._objects, target, options)
        if not deletion.is_gone or target.resource.returns_deleted:
            form = parse_accept(request.accept)
            return ApiResponse(200, render_object(deletion.stored.raw, target.resource, form, self._printer))
        resource = target.resource
        details = {"name": target.name, "group": resource.group, "kind": resource.plural}
        details["uid"] = deletion.stored.tree["metadata"]["uid"]
        shown = {k: v for k, v in details.items() if v}
        return ApiResponse(200, orjson.dumps({**_SUCCESS, "details": shown}))

    def _delete_collection(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        form = parse_accept(request.accept)
        options = DeleteOptions.parse(request, parameters)
        page = list_page(self._objects.store, target, parameters)
        for raw in page.raws:
            metadata = orjson.loads(raw)["metadata"]
            one = Target(target.resource, metadata.get("namespace", ""), metadata["name"], "")
            delete_object(self._objects, one, options)
        return ApiResponse(200, render_list(page.raws, page.metadata, target.resource, form, self._printer))

    # ---- subresources -------------------------------------------------------------------------------------

    def _bind(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        bind_pod(self._objects, target, request, parse_dry_run(parameters, "CreateOptions"))
        return ApiResponse(201, orjson.dumps({**_SUCCESS, "code": 201}))

    def _evict(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        evict_pod(self._objects, target, request, parameters)
        return ApiResponse(201, orjson.dumps({**_SUCCESS, "code": 201}))

    def _finalize(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        stored = finalize_namespace(self._objects, target, request, parse_dry_run(parameters, "UpdateOptions"))
        return ApiResponse(200, stored.raw)

    def _get_scale(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        return ApiResponse(200, encode_scale(get_scale(self._objects.get(target))))

    def _update_scale(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        dry_run = parse_dry_run(parameters, "UpdateOptions")
        scale, _ = parse_body(request.body, request.content_type, "Scale")
        old = self._objects.get(target)
        return ApiResponse(200, encode_scale(update_scale(self._objects, target, scale, old, dry_run)))

    def _patch_scale(self, request: ApiRequest, target: Target, parameters: Parameters) -> ApiResponse:
        dry_run = parse_dry_run(parameters, "PatchOptions")
        old = self._objects.get(target)
        scale = apply_patch(get_scale(old), request.body, request.content_type, _ANYTHING)
        return ApiResponse(200, encode_scale(update_scale(self._objects, target, scale, old, dry_run)))


def _check_namespace(metadata: Tree, namespace: str) -> None:
    if metadata.get("namespace") not in (None, "", namespace):
        text = "the namespace of the provided object does not match the namespace sent on the request"
        raise errors.bad_request(text)


def _check_name(tree: Tree, target: Target) -> None:
    """Fill in, or compare, name and namespace of an update."""
    metadata = tree["metadata"]
    name = metadata.get("name") or target.name
    if name != target.name:
        raise errors.bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
    _check_namespace(metadata, target.namespace)
    tree["metadata"] = {**metadata, "name": name, **({"namespace": target.namespace} if target.namespace else {})}
