"""Bodies in protobuf: what typed clients send means the same as JSON, and broken bytes are refused."""

import random
import struct
from typing import Any

import pytest

from unit.server.api_driver import MAPS, PODS, Api, config_map

PROTOBUF = "application/vnd.kubernetes.protobuf"


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(*fields: tuple[int, Any]) -> bytes:
    """Encode (number, value) pairs; text and bytes are length-delimited, numbers are varints."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        else:
            raw = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(raw)) + raw
    return out


def envelope(version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\0" + message((1, message((1, version), (2, kind))), (2, raw), (3, ""), (4, ""))


def metadata(name: str) -> tuple[int, bytes]:
    return 1, message((1, name), (2, ""), (3, ""), (5, ""), (7, 0), (8, b""))


CONFIG_MAP = envelope(
    "v1", "ConfigMap", message(metadata("a"), (2, message((1, "k"), (2, "v"))), (3, message((1, "b"), (2, b"\xff"))))
)


def test_a_message_means_the_same_as_json() -> None:
    api = Api()
    code, made = api.call("POST", MAPS, CONFIG_MAP, PROTOBUF)
    assert code == 201
    assert (made["data"], made["binaryData"]) == ({"k": "v"}, {"b": "/w=="})
    assert set(made["metadata"]) == {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}


def test_scalars_keep_or_lose_their_zeros_as_in_json() -> None:
    probe = message((1, message((2, message((2, message((1, 1), (2, 0), (3, "http"))))))), (3, 5))
    requests = message((2, message((1, "cpu"), (2, message((1, "100m"))))))
    container = message((1, "c"), (2, "i"), (3, "sh"), (3, ""), (8, requests), (10, probe), (18, 0))
    spec = message(
        (2, container), (3, ""), (4, 0), (5, 60), (11, 0), (22, message((1, "k"), (4, "NoExecute"), (5, -1))), (30, 0)
    )
    api = Api()
    code, made = api.call("POST", PODS, envelope("v1", "Pod", message(metadata("p"), (2, spec))), PROTOBUF)
    assert code == 201, made
    spec = made["spec"]
    assert spec["terminationGracePeriodSeconds"] == 0  # a pointer: zero was said
    assert (spec["activeDeadlineSeconds"], spec["enableServiceLinks"]) == (60, False)
    assert "hostNetwork" not in spec and "tty" not in spec["containers"][0]
    assert spec["containers"][0]["command"] == ["sh", ""]
    assert spec["containers"][0]["resources"] == {"requests": {"cpu": "100m"}}
    assert spec["containers"][0]["livenessProbe"]["httpGet"] == {"path": "/", "scheme": "HTTP", "port": "http"}
    assert {"key": "k", "effect": "NoExecute", "tolerationSeconds": -1} in spec["tolerations"]


def test_times_have_the_precision_of_their_field() -> None:
    renewed = message((1, 1_700_000_000), (2, 5_000))
    spec = message((1, "me"), (2, 15), (4, renewed))
    api = Api()
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    body = envelope("coordination.k8s.io/v1", "Lease", message(metadata("l"), (2, spec)))
    code, made = api.call("POST", leases, body, PROTOBUF)
    assert (code, made["spec"]["renewTime"]) == (201, "2023-11-14T22:13:20.000005Z")


def test_delete_options_come_as_protobuf_too() -> None:
    api = Api()
    made = api.create(MAPS, config_map("a"))
    wrong = envelope("v1", "DeleteOptions", message((2, message((1, "another")))))
    code, status = api.call("DELETE", f"{MAPS}/a", wrong, PROTOBUF)
    assert (code, status["reason"]) == (409, "Conflict")
    right = envelope("v1", "DeleteOptions", message((1, 0), (2, message((1, made["metadata"]["uid"])))))
    assert api.call("DELETE", f"{MAPS}/a", right, PROTOBUF)[0] == 200


def test_a_field_that_nobody_knows_counts_as_one_in_json() -> None:
    api = Api()
    body = envelope("v1", "ConfigMap", message(metadata("a"), (99, "x")))
    code, status = api.call("POST", f"{MAPS}?fieldValidation=Strict", body, PROTOBUF)
    assert code == 400 and 'unknown field number 99 in "ConfigMap"' in status["message"]
    assert api.call("POST", MAPS, body, PROTOBUF)[0] == 201


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "does not appear to be a protobuf message"),
        (b'{"kind": "ConfigMap"}', "does not appear to be a protobuf message"),
        (envelope("v1", "Nonsense", b""), 'no protobuf message is known for kind "Nonsense" in version "v1"'),
        (envelope("v1", "ConfigMap", message((1, 5))), "wrong wireType"),
        (envelope("v1", "ConfigMap", b"\x0a\xff"), "unexpected EOF"),
        (envelope("v1", "ConfigMap", b"\x0b"), "illegal wireType 3"),
        (envelope("v1", "ConfigMap", b"\xff" * 11), "integer overflow"),
        (envelope("v1", "ConfigMap", message((1, message((1, b"\xff"))))), "invalid UTF-8"),
        (envelope("v1", "Secret", message(metadata("a"))), "unknown conversion"),
        (envelope("v1", "ConfigMap", b"") + message((3, "gzip")), "packed as gzip"),
    ],
)
def test_what_is_no_such_message_is_refused(body: bytes, text: str) -> None:
    code, status = Api().call("POST", MAPS, body, PROTOBUF)
    assert code == 400 and text in status["message"]


def test_no_mutilated_message_is_a_fault_of_the_server() -> None:
    api, rng = Api(), random.Random(1)
    for end in range(len(CONFIG_MAP)):
        assert api.call("POST", MAPS, CONFIG_MAP[:end], PROTOBUF)[0] in (201, 400, 409, 422)
    for _ in range(2000):
        body = bytearray(CONFIG_MAP)
        for _ in range(rng.randint(1, 4)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        assert api.call("POST", MAPS, bytes(body), PROTOBUF)[0] in (201, 400, 409, 422)
