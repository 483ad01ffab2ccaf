"""Impure. The source that stacks name, where it lies on this machine and is the one that ran."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from ddpdoctor.collect import code
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site


def read(places: Iterable[Site], *, written: float) -> Mapping[str, SourceFile]:
    """Files of these places. `written`: when the evidence was, seconds since the epoch.

    A file in which some line does not lie in the function that the stack names there is another one, or another
    version: it is left out, for a wrong line is worse than none.
    """
    places = tuple(dict.fromkeys(places))
    found = code.read(places, started=written)
    wanted: dict[str, list[Site]] = {}
    for place in places:
        wanted.setdefault(place.file, []).append(place)
    return {path: source for path, source in found.items() if fits(source.text, wanted.get(path, []))}


def fits(text: str, places: Iterable[Site]) -> bool:
    """Every line lies in the function that is named for it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    length = text.count("\n") + 1
    return all(_fits(tree, place, length) for place in places)


def _fits(tree: ast.Module, place: Site, length: int) -> bool:
    if not 0 < place.line <= length:
        return False
    name = place.function.rpartition(".")[2]
    around = _functions_around(tree, place.line)
    if place.function.startswith("<") or name.startswith("<"):
        return name != "<module>" or not around
    return bool(around) and around[-1] == name


def _functions_around(tree: ast.Module, line: int) -> list[str]:
    """Names of the functions that a line lies in, outermost first; a decorator's line is its function's."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.lineno <= line <= (node.end_lineno or node.lineno):
                found.append((node.lineno, node.name))
    return [name for _, name in sorted(found)]
