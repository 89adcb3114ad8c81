import pytest

from apportion.api.core import Node, Pod
from apportion.api.decode import decode_as, decode_view
from apportion.api.kinds import KINDS, describe_object, find_kind, find_kind_of, get_kind, split_api_version
from apportion.api.resource import ResourceSlice
from apportion.base import InputError, ValidationError


def test_every_kind_stands_once_and_has_a_plural_of_its_own() -> None:
    assert len({(k.group, k.name) for k in KINDS}) == len(KINDS)
    assert len({(k.group, k.plural) for k in KINDS}) == len(KINDS)


def test_kind_is_found_whatever_the_version() -> None:
    kind = find_kind_of({"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceSlice"})
    assert kind is not None
    assert kind.view is ResourceSlice
    assert kind.api_version == "resource.k8s.io/v1"
    assert kind.qualified_name == "ResourceSlice.resource.k8s.io"
    assert get_kind("", "Pod").api_version == "v1"


def test_group_matters() -> None:
    assert find_kind("serving.knative.dev", "Service") is None
    assert find_kind_of({"kind": "Pod"}) is None
    assert split_api_version("apps/v1") == ("apps", "v1")
    with pytest.raises(ValidationError, match="unknown kind Pod in group apps"):
        get_kind("apps", "Pod")


def test_describe_object() -> None:
    assert describe_object({"kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}) == "Pod n/p"
    assert describe_object({"kind": "Node", "metadata": {"generateName": "n-"}}) == "Node n-"
    assert describe_object({}) == "? ?"


def test_decode_reads_the_view_and_drops_the_rest() -> None:
    raw = b'{"metadata":{"name":"n","labels":{"a":"b"}},"spec":{"podCIDR":"10.0.0.0/24","other":1}}'
    node = decode_view(get_kind("", "Node"), raw)
    assert isinstance(node, Node)
    assert node.metadata.labels == {"a": "b"}
    assert node.spec.pod_cidr == "10.0.0.0/24"


def test_null_counts_as_absent() -> None:
    pod = decode_as(Pod, b'{"spec":{"containers":null,"tolerations":[{"key":null,"operator":"Exists"}]}}')
    assert pod.spec.containers == ()
    assert pod.spec.tolerations[0].key == ""


def test_wrong_type_names_the_field() -> None:
    with pytest.raises(ValidationError) as caught:
        decode_as(Pod, b'{"spec":{"containers":[{"name":"c","ports":[{"containerPort":"80"}]}]}}')
    assert caught.value.field == "spec.containers[0].ports[0].containerPort"
    assert caught.value.detail == "Expected int, got str"


def test_what_is_not_json_and_what_has_no_view() -> None:
    with pytest.raises(InputError, match="not valid JSON"):
        decode_as(Pod, b"{")
    with pytest.raises(InputError, match="no typed view"):
        decode_view(get_kind("", "ConfigMap"), b"{}")
