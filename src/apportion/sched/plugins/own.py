"""Plugins that do not come with the scheduler: from a Python file, a module path, or an entry point."""

import importlib
import importlib.util
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from apportion.base import ConfigError

ENTRY_POINTS: Final = "apportion.plugins"


def find_own(name: str) -> type[Any] | None:
    """Return the plugin class that a configuration names, None when the name is not of that form.

    ``path/to/file.py:Class``, ``package.module:Class``, or the name of an entry point in the group
    ``apportion.plugins``. Raises ConfigError when it cannot be loaded: this runs code of the user.
    """
    if ":" in name:
        module, _, attribute = name.rpartition(":")
        return _pick(name, _load(name, module), attribute)
    found = next(iter(entry_points(group=ENTRY_POINTS, name=name)), None)
    if found is None:
        return None
    try:
        loaded: type[Any] = found.load()
    except Exception as fault:
        raise ConfigError(f"plugin {name}: {found.value} cannot be loaded: {type(fault).__name__}: {fault}") from fault
    return loaded


def _load(name: str, module: str) -> ModuleType:
    try:
        if module.endswith(".py"):
            return _load_file(Path(module))
        return importlib.import_module(module)
    except Exception as fault:  # whatever the code of the module does
        raise ConfigError(f"plugin {name}: {module} cannot be loaded: {type(fault).__name__}: {fault}") from fault


def _load_file(path: Path) -> ModuleType:
    name = f"apportion_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _pick(name: str, module: ModuleType, attribute: str) -> type[Any]:
    found = getattr(module, attribute, None)
    if not isinstance(found, type):
        raise ConfigError(f"plugin {name}: {module.__name__} has no class {attribute}")
    return found
