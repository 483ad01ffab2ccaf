"""Patches modules that the job imports after torch, before it first uses them.

Checked only where all ranks of a program pass in the same order (a batch, a collective, a step), never by a timer: a
first forward that is counted on one rank and missed on another would be wrong evidence.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
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
        patch = _waiting.pop(name)
        try:
            patch(module)
        except Exception:  # noqa: BLE001 - boundary: a version of the module without these functions is not counted
            continue
