"""Patches modules that the job imports after torch, before it first uses them.

What is counted (`when_imported`) is checked only where all ranks of a program pass in the same order (a batch, a
collective, a step), never by a timer: a first forward that is counted on one rank and missed on another would be wrong
evidence. What a process that never passes there uses, such as the driver that starts the ranks, is patched in the
import itself (`at_import`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_waiting: dict[str, Callable[[ModuleType], None]] = {}
_modules_seen = 0


def when_imported(name: str, patch: Callable[[ModuleType], None]) -> None:
    """Call `patch` once with the module, soon after it is completely imported."""
    _waiting[name] = patch


def apply_due() -> None:
    """Patch what was imported since the last call; otherwise this only compares a length."""
    global _modules_seen
    if not _waiting or len(sys.modules) == _modules_seen:
        return
    _modules_seen = len(sys.modules)
    for name in [name for name in _waiting if name in sys.modules]:
        module = sys.modules[name]
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            _modules_seen = 0
            continue
        _try(_waiting.pop(name), module)


def at_import(name: str, patch: Callable[[ModuleType], None]) -> None:
    """Call `patch` once with the module: at once if it is completely imported, else at the end of its import."""
    module = sys.modules.get(name)
    if module is None:
        sys.meta_path.insert(0, _Importer(name, patch))
    elif getattr(getattr(module, "__spec__", None), "_initializing", False):
        when_imported(name, patch)
    else:
        _try(patch, module)


class _Importer(MetaPathFinder):
    """Finds one module as Python does, and lets its loader call the patch. Takes itself away when that is done."""

    def __init__(self, name: str, patch: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._patch = patch

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_patch(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _try(self._patch, module)

        # the loader is of this spec alone; a program that looks at it finds what it would find without us
        spec.loader.exec_module = execute_and_patch  # type: ignore[method-assign]
        return spec


def _try(patch: Callable[[ModuleType], None], module: ModuleType) -> None:
    try:
        patch(module)
    except Exception:  # noqa: BLE001 - boundary: a version of the module without what is patched stays as it is
        return
