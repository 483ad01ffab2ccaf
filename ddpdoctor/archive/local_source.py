"""Impure. The source files that stacks name, if this machine has them in the version that ran."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from ddpdoctor.collect import source_files
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import libraries
from ddpdoctor.program.enclosing import functions_around
from ddpdoctor.program.source import parse

#: limits: files that are looked for, folders to search, and parent folders above each given path
MOST_FILES = 256
MOST_ROOTS = 32
MOST_ABOVE = 3


def read(places: Iterable[Site], *, written: float, roots: Sequence[Path] = ()) -> Mapping[str, SourceFile]:
    """The source files of these places. `written`: when the evidence was written, seconds since the epoch; `roots`:
    folders that relative paths may start from, the most likely first.

    A file is left out if a line does not lie in the function that the stack names for it: it is another file or another
    version, and a wrong line is worse than none.
    """
    wanted: dict[str, list[Site]] = {}
    for place in dict.fromkeys(places):
        wanted.setdefault(place.file, []).append(place)
    found: dict[str, SourceFile] = {}
    for name, inside in list(wanted.items())[:MOST_FILES]:
        for path in [name] if PurePath(name).is_absolute() else [str(root / name) for root in roots]:
            source = source_files.read([replace(inside[0], file=path)], started=written).get(path)
            if source is not None and fits(source.text, inside):
                found[name] = replace(source, path=name)
                break
    return found


def roots_of(given: Iterable[Path], places: Iterable[Site]) -> tuple[Path, ...]:
    """Folders that may hold the script's files: the current one, those of its absolute paths, and the given
    folders with their parents."""
    files = dict.fromkeys(place.file for place in places if PurePath(place.file).is_absolute())
    own = [Path(file).parent for file in files if libraries.origin(file).kind is libraries.Kind.PROJECT]
    folders = [path if path.is_dir() else path.parent for path in (one.absolute() for one in given)]
    above = [parent for folder in folders for parent in (folder, *list(folder.parents)[:MOST_ABOVE])]
    return tuple(dict.fromkeys([Path.cwd(), *own, *above]))[:MOST_ROOTS]


def fits(text: str, places: Iterable[Site]) -> bool:
    """Whether every line lies in the function that is named for it."""
    tree = parse(text)
    length = text.count("\n") + 1
    return isinstance(tree, ast.Module) and all(_fits(tree, place, length) for place in places)


def _fits(tree: ast.Module, place: Site, length: int) -> bool:
    if not 0 < place.line <= length:
        return False
    name = place.function.rpartition(".")[2]
    around = [function.name for function in functions_around(tree, place.line)]
    if place.function.startswith("<") or name.startswith("<"):
        return name != "<module>" or not around
    return bool(around) and around[-1] == name
