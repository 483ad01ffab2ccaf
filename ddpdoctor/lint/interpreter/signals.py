"""What signal handlers set: a flag that is up on one rank before it is on another."""

from __future__ import annotations

from ddpdoctor.lint.values.values import Taint, Value, unknown
from ddpdoctor.program.modules import Module
from ddpdoctor.program.signal_handlers import handles

_TAG = frozenset({"signal"})


def flag(module: Module, name: str) -> Value | None:
    """A global name that a handler sets; None for any other."""
    if "signal" not in module.words:
        return None
    if any(name in f.outer and handles(f) for f in module.functions):
        return raised("signal", module.path, name)
    return None


def raised(*key: object) -> Value:
    """A flag that a handler sets."""
    return unknown(*key, taint=Taint.RANK_LOCAL, tags=_TAG)
