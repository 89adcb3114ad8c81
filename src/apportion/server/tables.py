"""Objects as tables, which is how kubectl shows them."""

from apportion.api import Tree
from apportion.base import Clock
from apportion.server.columns import find_columns
from apportion.server.resources import Resource
from apportion.server.strategies.lifecycle import TEMPLATE_GENERATION


class Printer:
    """Prints tables; ages are as of now. Source of columns and cells: pkg/printers/internalversion/printers.go."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def print_table(self, resource: Resource, trees: list[Tree], metadata: Tree, with_columns: bool = True) -> Tree:
        """Return the Table of stored objects; each row carries the object's metadata.

        The later events of a watch leave the columns out.
        """
        columns = find_columns(resource)
        now_s = self._clock.now()
        rows = [
            {
                "cells": [column.print_cell(tree, now_s) for column in columns],
                "object": _get_row_object(tree),
            }
            for tree in trees
        ]
        definitions = [column.describe() for column in columns] if with_columns else None
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": definitions,
            "rows": rows,
        }


def _get_row_object(tree: Tree) -> Tree:
    """Return what a row says of its object; an annotation that stands for a field is left out, as upstream does."""
    metadata = tree["metadata"]
    if TEMPLATE_GENERATION in (metadata.get("annotations") or {}):
        annotations = {k: v for k, v in metadata["annotations"].items() if k != TEMPLATE_GENERATION}
        metadata = {**metadata, "annotations": annotations}
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
