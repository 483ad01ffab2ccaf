"""Paths that calls write, read or need, and when two paths are equal or one contains the other."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import filesystem
from ddpdoctor.lint.knowledge.filesystem import Use
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import Symbol, Value, unknown
from ddpdoctor.model.record import record

#: a path as comparable parts: constant names and symbols
Parts = tuple[Any, ...]


@record(frozen=True, slots=True)
class Touch:
    """A call that uses a path."""

    call: CallEvent
    use: Use
    parts: Parts
    path: Value


#: tests are useless without the answer, and removed files are not needed
_TOUCHES = frozenset(Use) - {Use.ASKS, Use.REMOVES}
_SAME = frozenset({
    "pathlib.Path", "os.path.abspath", "os.path.realpath", "os.path.expanduser", "os.fspath", "os.path.normpath",
    "os.path.join",
})  # fmt: skip
#: a string that was too long to follow into a callee: equal symbols do not mean equal strings
_ANY_TEXT = unknown("argument", "str").atoms[0]


def touches(facts: ModuleFacts) -> list[Touch]:
    """Every use of a path that can be compared, in the order of execution."""
    return [touch for call in facts.concerning(_may_touch) if (touch := _touch(call)) is not None]


#: move what is at the path that they are given first, or remove it with all that is in it
_TAKING_AWAY = frozenset({"os.rename", "os.replace", "shutil.move", "shutil.rmtree"})
#: methods of a path that do so
_TAKING_ITSELF = frozenset({".rename", ".replace"})


def taken_away(facts: ModuleFacts) -> list[Touch]:
    """Folders and files that are moved elsewhere, and folders that are removed, in the order of execution."""
    found: list[Touch] = []
    for call in facts.concerning(_may_take_away):
        # a string's `replace` has two arguments
        of_itself = not call.path and len(call.args) == 1
        path = call.argument(0, "src") or call.argument(0, "path") if call.path else call.receiver
        parts = parts_of(path) if path is not None and (call.path or of_itself) else None
        if path is not None and parts:
            found.append(Touch(call, Use.REMOVES, parts, path))
    return found


def _may_take_away(name: str) -> bool:
    return name in _TAKING_AWAY or name in _TAKING_ITSELF


@lru_cache(maxsize=1 << 12)
def _may_touch(name: str) -> bool:
    """Whether a call of this name can use a path."""
    if name.startswith("."):
        return name[1:] in filesystem.OF_PATHS or name[1:] in filesystem.OF_OBJECTS
    return name == filesystem.OPEN or name.startswith(filesystem.DATA_SETS) or filesystem.function(name) is not None


def _touch(call: CallEvent) -> Touch | None:
    use, path = _use(call)
    parts = parts_of(path) if path is not None else None
    return Touch(call, use, parts, path) if path is not None and use in _TOUCHES and parts else None


def _use(call: CallEvent) -> tuple[Use | None, Value | None]:
    if call.path == filesystem.OPEN:
        return _opened(call), call.argument(0, "file")
    if call.path.startswith(filesystem.DATA_SETS) and call.path.count(".") == 2:
        download = call.keyword("download")
        fills = download is not None and download.constant is True
        return Use.FILLS if fills else Use.READS, call.argument(0, "root")
    row = filesystem.function(call.path) if call.path else None
    if row is not None:
        return row.use, call.argument(row.position, row.name)
    if call.path:
        return None, None
    own = filesystem.OF_PATHS.get(call.method)
    if own is not None:
        return own.use, call.receiver
    row = filesystem.OF_OBJECTS.get(call.method)
    # a string's `replace` has two arguments
    if row is None or not call.args or (row.use is Use.MOVES and len(call.args) > 1):
        return None, None
    return row.use, call.args[0]


def _opened(call: CallEvent) -> Use | None:
    mode = call.argument(1, "mode")
    if mode is None:
        return Use.READS
    text = mode.constant
    if not isinstance(text, str):
        return None
    return Use.WRITES_FILE if set(text) & set("wax") else Use.READS


#: most nested joins that are followed
_DEEPEST = 8


def parts_of(value: Value, depth: int = 0) -> Parts | None:
    """The path in parts; None if it differs by rank, cannot be compared or has too many nested joins, or if only the
    ranks that have stored it can use it."""
    obj = value.object
    if value.tags & Tag.STORED_BY_SOME:
        return None
    if isinstance(obj, Made) and obj.path in _SAME and obj.args:
        given = [parts_of(a, depth + 1) for a in obj.args] if depth < _DEEPEST else [None]
        if given[0] is None:
            return None
        # a part that differs by rank, or that is not known, equals no other part
        return tuple(p for g in given for p in (g if g is not None else (object(),)))
    if len(value.atoms) > 1 or value.tags & ANY_RANK:
        return None
    atom = value.atoms[0]
    if isinstance(atom, str):
        names = tuple(name for name in atom.split("/") if name not in ("", "."))
        return ("/", *names) if atom.startswith("/") else names
    return (atom.key,) if isinstance(atom, Symbol) and atom != _ANY_TEXT else None


#: make a folder, and none of those around it
_MAKE_ONE = frozenset({"os.mkdir", ".mkdir"})


def _makes_only_last(call: CallEvent) -> bool:
    """Whether it makes a folder and fails where the one around it is missing."""
    if call.opaque or (call.path or f".{call.method}") not in _MAKE_ONE:
        return False
    parents = call.keyword("parents")
    return parents is None or parents.constant is False


def makes_around(made: Touch, folder: Parts) -> bool:
    """Whether it makes a folder somewhere in another one, which it makes as well where that is missing."""
    plain = made.call.path == "os.makedirs" or (made.call.method == "mkdir" and not _makes_only_last(made.call))
    return made.use is Use.MAKES_FOLDER and plain and made.parts[: len(folder)] == folder


def needs(reader: Touch, writer: Touch) -> bool:
    """Whether `reader` fails, or reads something else, unless `writer` came before."""
    mine, theirs = reader.parts, writer.parts
    inside = len(mine) > len(theirs) and mine[: len(theirs)] == theirs
    if writer.use is Use.MAKES_FOLDER:
        # who reads in a folder that was made here, at most empty, means one that was there before; what fills a folder
        # makes it, with those around it
        return inside and (reader.use in (Use.WRITES_FILE, Use.MOVES) or _makes_only_last(reader.call))
    if reader.use not in (Use.READS, Use.LISTS):
        return False
    if mine == theirs:
        return True
    if writer.use in (Use.FILLS, Use.MOVES):
        return inside
    # a folder is listed to find the files that a loop has written there, not a log beside them
    return reader.use is Use.LISTS and theirs[: len(mine)] == mine and bool(writer.call.context.loops)
