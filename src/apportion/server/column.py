"""One column of a table, and the few that stand in many tables."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from apportion.api import Tree
from apportion.server import cells
from apportion.server.cells import NONE, read
from apportion.server.schema import get_document

# What a column says about itself is either a field's documentation (type.field, see the schema table) or a text.
_CONTAINERS: Final = "Names of each container in the template."
_IMAGES: Final = "Images referenced by each container in the template."


@dataclass(frozen=True, slots=True)
class Column:
    """One column: how it is named, and what stands in it. ``priority`` 1 is shown in wide output only."""

    name: str
    document: str
    value: Callable[[Tree, float], Any]
    type: str = "string"
    format: str = ""
    priority: int = 0

    def print_cell(self, tree: Tree, now_s: float) -> Any:
        return self.value(tree, now_s)

    def describe(self) -> Tree:
        """Return the column's definition."""
        is_field = " " not in self.document
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": get_document(self.document) if is_field else self.document,
            "priority": self.priority,
        }


def column(name: str, document: str, value: Callable[[Tree], Any], wide: bool = False, kind: str = "string") -> Column:
    return Column(name, document, lambda tree, _: value(tree), kind, "", int(wide))


def field(name: str, document: str, path: str, default: Any = NONE, wide: bool = False, kind: str = "string") -> Column:
    # an empty text is as good as none
    return column(name, document, lambda tree: read(tree, path) or default, wide, kind)


NAME: Final = Column("Name", "meta.v1.ObjectMeta.name", lambda t, _: t["metadata"]["name"], format="name")
AGE: Final = Column("Age", "meta.v1.ObjectMeta.creationTimestamp", cells.print_age)
CONTAINER_COLUMNS: Final = (
    column("Containers", _CONTAINERS, lambda t: cells.print_containers(t, "name"), wide=True),
    column("Images", _IMAGES, lambda t: cells.print_containers(t, "image"), wide=True),
)


def select(document: str, path: str = "spec.selector", wide: bool = True) -> Column:
    return column("Selector", document, lambda t: cells.print_selector(read(t, path)), wide)
