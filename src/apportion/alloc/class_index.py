"""Device classes by name, and which class serves an extended resource (KEP-5004)."""

from apportion.api.extended_resources import IMPLICIT_PREFIX
from apportion.api.resource import DeviceClass


class ClassIndex:
    """All device classes. ``version`` rises with every change, ``names_version`` when resource names came or went."""

    def __init__(self) -> None:
        self.version = 0
        self.names_version = 0
        self._classes: dict[str, DeviceClass] = {}
        self._by_resource: dict[str, dict[str, DeviceClass]] = {}  # explicit names only

    def apply(self, device_class: DeviceClass) -> bool:
        """Add or replace a class; return whether anything changed."""
        name = device_class.metadata.name
        known = self._classes.get(name)
        if known is not None and known.spec == device_class.spec:
            return False
        before = known.spec.extended_resource_name if known is not None else None
        after = device_class.spec.extended_resource_name
        if known is None or before != after:
            self.names_version += 1
        self._drop_name(name, before)
        self._classes[name] = device_class
        if after is not None:
            self._by_resource.setdefault(after, {})[name] = device_class
        self.version += 1
        return True

    def remove(self, name: str) -> bool:
        """Forget a class; return whether there was one."""
        known = self._classes.pop(name, None)
        if known is None:
            return False
        self._drop_name(name, known.spec.extended_resource_name)
        self.version += 1
        self.names_version += 1
        return True

    def _drop_name(self, name: str, resource: str | None) -> None:
        if resource is not None:
            serving = self._by_resource[resource]
            del serving[name]
            if not serving:
                del self._by_resource[resource]

    def find(self, name: str) -> DeviceClass | None:
        """Return the class called ``name``."""
        return self._classes.get(name)

    def find_for_resource(self, resource: str) -> DeviceClass | None:
        """Return the class that serves an extended resource: of several that name it the newest, then by name.

        The implicit name of a class stands for it always.
        """
        serving = self._by_resource.get(resource)
        if serving:
            newest = max(c.metadata.creation_timestamp or "" for c in serving.values())
            return serving[min(n for n, c in serving.items() if (c.metadata.creation_timestamp or "") == newest)]
        if resource.startswith(IMPLICIT_PREFIX):
            return self._classes.get(resource.removeprefix(IMPLICIT_PREFIX))
        return None
