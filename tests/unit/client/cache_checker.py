"""A sink that keeps what it is told, and checks that the telling makes sense."""

from typing import Any

import orjson

Tree = dict[str, Any]


class Cache:
    """The objects by namespace and name. Fails on whatever is told twice, out of order or of nothing."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Tree] = {}
        self.told: list[tuple[str, str]] = []
        self._version = 0

    def __call__(self, frame: bytes) -> None:
        event = orjson.loads(frame)
        change, tree = event["type"], event["object"]
        meta = tree["metadata"]
        key = (meta.get("namespace", ""), meta["name"])
        self.told.append((change, meta["name"]))
        known = self.objects.get(key)
        if change == "DELETED":
            assert known is not None and known["metadata"]["uid"] == meta["uid"], frame
            del self.objects[key]
            return
        assert change == ("ADDED" if known is None else "MODIFIED"), frame
        if known is not None:
            assert known["metadata"]["uid"] == meta["uid"], frame
            assert int(known["metadata"]["resourceVersion"]) < int(meta["resourceVersion"]), frame
        self.objects[key] = tree

    def take(self) -> list[tuple[str, str]]:
        """Return (type, name) of what was told since the last call."""
        told, self.told = self.told, []
        return told

    def stamps(self) -> dict[str, tuple[str, str]]:
        """Return (uid, version) by name."""
        metas = [t["metadata"] for t in self.objects.values()]
        return {m["name"]: (m["uid"], m["resourceVersion"]) for m in metas}
