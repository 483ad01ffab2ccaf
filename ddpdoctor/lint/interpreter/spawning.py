"""Functions of the project that an external call starts: in new processes, or with options as arguments."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.values.abstract_objects import Function, Items
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import RANK_NUMBERS, Keywords, Value, const
from ddpdoctor.program.sites import SourceSite

SPAWNED = RANK_NUMBERS.tagged(Tag.SPAWNED)


def started(
    machine: Machine, frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords, site: SourceSite
) -> None:  # fmt: skip
    """The functions of the project that the call starts."""
    if path in frameworks.SPAWNING:
        _spawn(machine, frame, frameworks.SPAWNING[path], args, keywords, site)
    elif path in frameworks.STARTING and args:
        start(machine, frame, args[0], [], site)
    elif path.endswith(".Process") and path.startswith(("torch.multiprocessing", "multiprocessing")):
        _process(machine, frame, keywords, site)


def _spawn(
    machine: Machine,
    frame: Frame,
    places: tuple[int, int],
    args: tuple[Value, ...],
    keywords: Keywords,
    site: SourceSite,
) -> None:
    named = dict(keywords)
    target = args[places[0]] if len(args) > places[0] else named.get("fn")
    given = args[places[1]] if len(args) > places[1] else named.get("args")
    if target is not None:
        start(machine, frame, target, [SPAWNED, *_items(given)], site)


def start(machine: Machine, frame: Frame, target: Value, args: list[Value], site: SourceSite) -> None:
    """Simulate a function that external code calls: in new processes, or with options as its arguments."""
    if isinstance(target.object, Function) and not machine.silent:
        machine.run_spawned(target.object.info, args, frame, site)


def _items(given: Value | None) -> list[Value]:
    if given is None:
        return []
    if isinstance(given.object, Items):
        return list(given.object.items)
    return [const(c) for c in given.elements or ()]


def _process(machine: Machine, frame: Frame, keywords: Keywords, site: SourceSite) -> None:
    target = next((v for k, v in keywords if k == "target"), None)
    args = _items(next((v for k, v in keywords if k == "args"), None))
    if target is not None:
        start(machine, frame, target, [RANK_NUMBERS if a.tags & Tag.INDEX else a for a in args], site)
