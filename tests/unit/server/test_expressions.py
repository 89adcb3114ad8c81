"""CEL expressions in objects: new ones are judged by the feature gates, accepted ones stay."""

import pytest

from apportion.api.feature_gates import FeatureGates
from apportion.cel import check_expressions
from apportion.store import MemoryStore
from unit.server.api_driver import Api, Tree

CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
WITH_LISTS = 'device.attributes["d.io"].models.includes("a")'


def device_class(expression: str) -> Tree:
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "c"}, "spec": spec}


@pytest.mark.parametrize(("gates", "code"), [("", 422), ("DRAListTypeAttributes=true", 201)])
def test_new_expressions_are_judged_by_the_feature_gates(gates: str, code: int) -> None:
    api = Api(check_cel=check_expressions(FeatureGates.parse(gates).as_dict()))
    assert api.call("POST", CLASSES, device_class(WITH_LISTS))[0] == code


def test_an_expression_that_was_accepted_once_stays() -> None:
    store = MemoryStore()
    old = Api(store, check_cel=check_expressions(FeatureGates.parse("DRAListTypeAttributes=true").as_dict()))
    tree = old.create(CLASSES, device_class(WITH_LISTS))
    now = Api(store, check_cel=check_expressions(FeatureGates.parse("").as_dict()))
    tree["metadata"]["labels"] = {"a": "b"}
    assert now.call("PUT", f"{CLASSES}/c", tree)[0] == 200
    tree = now.get(f"{CLASSES}/c")
    tree["spec"]["selectors"].append({"cel": {"expression": f"!({WITH_LISTS})"}})
    code, answer = now.call("PUT", f"{CLASSES}/c", tree)
    assert (code, answer["details"]["causes"][0]["field"]) == (422, "spec.selectors[1].cel.expression")
