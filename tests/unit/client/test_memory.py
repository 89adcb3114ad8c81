import orjson
import pytest

from apportion.client import JSON_PATCH, MERGE_PATCH, MemoryTransport, Request, Response


def _pod(name: str) -> dict[str, object]:
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "d", "uid": f"u-{name}"}, "spec": {}}


def _drain(transport: MemoryTransport) -> None:
    while transport.deliver():
        pass


class Answers(list[Response]):
    """Collects answers."""

    def __call__(self, response: Response) -> None:
        self.append(response)


def _submit(transport: MemoryTransport, request: Request) -> Response:
    answers = Answers()
    transport.submit(request, answers)
    assert answers == []  # an answer never comes before submit has returned
    _drain(transport)
    assert len(answers) == 1
    return answers[0]


def _bind(name: str, uid: str, node: str = "n") -> Request:
    body = {"metadata": {"name": name, "uid": uid}, "target": {"name": node}}
    return Request("create", "pods", "d", name, orjson.dumps(body), "binding")


def test_a_watch_sees_what_exists_and_every_change_in_order() -> None:
    transport = MemoryTransport()
    transport.put("pods", _pod("a"))
    _drain(transport)
    seen: list[tuple[str, str]] = []
    transport.watch(
        "pods", lambda raw: seen.append((orjson.loads(raw)["type"], orjson.loads(raw)["object"]["metadata"]["name"]))
    )
    transport.put("pods", _pod("b"))
    transport.put("pods", _pod("a"))
    assert seen == [("ADDED", "a")]  # no event is delivered inside a commit
    _drain(transport)
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a")]


def test_binding_checks_the_uid_and_happens_once() -> None:
    transport = MemoryTransport()
    transport.put("pods", _pod("a"))
    assert _submit(transport, _bind("a", "u-other")).code == 409
    assert _submit(transport, _bind("a", "u-a")).code == 201
    assert _submit(transport, _bind("a", "u-a", "elsewhere")).code == 409
    assert _submit(transport, _bind("gone", "u")).code == 404
    found = transport.find("pods", "d", "a")
    assert found is not None and found["spec"]["nodeName"] == "n"


def test_a_stale_resource_version_changes_nothing() -> None:
    transport = MemoryTransport()
    transport.put("resourceclaims", {"metadata": {"name": "c", "namespace": "d"}, "status": {}})
    transport.put("resourceclaims", {"metadata": {"name": "c", "namespace": "d"}, "status": {"x": 1}})
    body = orjson.dumps({"metadata": {"resourceVersion": "1"}, "status": {"x": 2}})
    request = Request("patch", "resourceclaims", "d", "c", body, "status", MERGE_PATCH)
    assert _submit(transport, request).code == 409
    found = transport.find("resourceclaims", "d", "c")
    assert found is not None and found["status"] == {"x": 1}


@pytest.mark.parametrize(("value", "code"), [("u-a", 200), ("u-b", 422)])
def test_a_json_patch_applies_only_if_its_tests_hold(value: str, code: int) -> None:
    transport = MemoryTransport()
    transport.put("pods", _pod("a"))
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": value},
        {"op": "add", "path": "/spec/list", "value": [1]},
        {"op": "add", "path": "/spec/list/-", "value": 2},
    ]
    response = _submit(transport, Request("patch", "pods", "d", "a", orjson.dumps(patch), content_type=JSON_PATCH))
    assert response.code == code
    found = transport.find("pods", "d", "a")
    assert found is not None and found["spec"] == ({"list": [1, 2]} if code == 200 else {})
