"""Functions of the project that a call starts: in new processes, or with options as their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddpdoctor.lint.facts import frameworks
from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.things import Function, Items, Site
from ddpdoctor.lint.facts.values import (
    RANK_NUMBERS,
    Keywords,
    Value,
    const,
)

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis

SPAWNED = RANK_NUMBERS.tagged("spawned")


def started(
    analysis: Analysis, frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords, site: Site
) -> None:  # fmt: skip
    """Functions of the project that the call starts."""
    if path in frameworks.SPAWNING:
        _spawn(analysis, frame, frameworks.SPAWNING[path], args, keywords, site)
    elif path in frameworks.STARTING and args:
        start(analysis, frame, args[0], [], site)
    elif path.endswith(".Process") and path.startswith(("torch.multiprocessing", "multiprocessing")):
        _process(analysis, frame, keywords, site)


def _spawn(
    analysis: Analysis,
    frame: Frame,
    places: tuple[int, int],
    args: tuple[Value, ...],
    keywords: Keywords,
    site: Site,
) -> None:
    named = dict(keywords)
    target = args[places[0]] if len(args) > places[0] else named.get("fn")
    given = args[places[1]] if len(args) > places[1] else named.get("args")
    if target is not None:
        start(analysis, frame, target, [SPAWNED, *_items(given)], site)


def start(analysis: Analysis, frame: Frame, target: Value, args: list[Value], site: Site) -> None:
    """A function that something outside the project calls: in new processes, or with options as its arguments."""
    if isinstance(target.thing, Function) and not analysis.silent:
        analysis.run_spawned(target.thing.info, args, frame, site)


def _items(given: Value | None) -> list[Value]:
    if given is None:
        return []
    if isinstance(given.thing, Items):
        return list(given.thing.items)
    return [const(c) for c in given.elements or ()]


def _process(analysis: Analysis, frame: Frame, keywords: Keywords, site: Site) -> None:
    target = next((v for k, v in keywords if k == "target"), None)
    args = _items(next((v for k, v in keywords if k == "args"), None))
    if target is not None:
        start(analysis, frame, target, [RANK_NUMBERS if "index" in a.tags else a for a in args], site)
