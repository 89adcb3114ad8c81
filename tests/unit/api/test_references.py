from apportion.api.kinds import Tree
from apportion.api.references import fill_references


def pod(name: str, uid: str) -> Tree:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "n", "uid": uid}}


def claim(owners: list[Tree], consumers: list[Tree]) -> Tree:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "n", "ownerReferences": owners},
        "status": {"reservedFor": consumers},
    }


def test_uids_of_owners_and_consumers_are_filled_in_with_a_warning() -> None:
    tree = claim([{"apiVersion": "v1", "kind": "Pod", "name": "p"}], [{"resource": "pods", "name": "p"}])
    (_, filled), warnings = fill_references([pod("p", "u1"), tree])
    assert filled["metadata"]["ownerReferences"][0]["uid"] == "u1"
    assert filled["status"]["reservedFor"][0]["uid"] == "u1"
    assert warnings == [
        "ResourceClaim n/c: owner Pod p had no uid; filled in from the input",
        "ResourceClaim n/c: consumer Pod p had no uid; filled in from the input",
    ]


def test_given_uids_stay_and_unknown_objects_are_reported() -> None:
    given = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "old"}
    (_, filled), warnings = fill_references([pod("p", "u1"), claim([given], [{"resource": "pods", "name": "q"}])])
    assert filled["metadata"]["ownerReferences"] == [given]
    assert filled["status"]["reservedFor"] == [{"resource": "pods", "name": "q"}]
    assert warnings == ["ResourceClaim n/c: consumer Pod q has no uid and is not in the input"]


def test_owner_may_be_cluster_scoped_and_group_counts() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x", "uid": "u9"}}
    owners = [{"apiVersion": "v1", "kind": "Node", "name": "x"}, {"apiVersion": "a/v1", "kind": "Node", "name": "x"}]
    (_, filled), _ = fill_references([node, claim(owners, [])])
    assert [o.get("uid") for o in filled["metadata"]["ownerReferences"]] == ["u9", None]


def test_objects_without_such_references_are_the_same_objects() -> None:
    tree = pod("p", "u")
    assert fill_references([tree])[0][0] is tree
