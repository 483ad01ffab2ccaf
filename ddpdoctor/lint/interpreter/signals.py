"""Flags that signal handlers set: they change on one rank before they change on another."""

from __future__ import annotations

from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Taint, Value, unknown
from ddpdoctor.program.modules import Module
from ddpdoctor.program.signal_handlers import Flag, FlagPath, of_module

#: methods that read what a handler did to the object: an Event, a queue
ASKING = frozenset({"is_set", "wait", "empty", "full", "qsize", "get"})


def variable(module: Module, name: str, line: int, *, local: bool) -> Value | None:
    """A variable that a handler sets, read in the function that begins on a line (0: outside functions).

    None for any other, also if the function has a local variable of that name (`local`).
    """
    flag = of_module(module).by_path.get((name,))
    if flag is None or (local if flag.scope is None else line not in flag.scope):
        return None
    return raised(flag)


def part(module: Module, path: FlagPath) -> Value | None:
    """`state["stop"]`, `Flags.stop`, `self.requested` (by its class); None if no handler sets it."""
    flag = of_module(module).by_path.get(path)
    return raised(flag) if flag is not None else None


def elsewhere(module: Module, name: str) -> Value | None:
    """An attribute of an object from another file, if a handler in this file sets one of this name."""
    flag = of_module(module).elsewhere.get(name)
    return raised(flag) if flag is not None else None


def asked(receiver: Value, method: str) -> Value | None:
    """`stop.is_set()` for an object that a handler sets; None for other calls."""
    return receiver if receiver.tags & Tag.SIGNAL and method in ASKING else None


def raised(flag: Flag) -> Value:
    """The value of a flag that a handler sets."""
    return unknown("signal", flag.file, flag.text, taint=Taint.RANK_LOCAL, tags=Tag.SIGNAL)
