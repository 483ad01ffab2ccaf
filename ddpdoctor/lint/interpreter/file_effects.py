"""Files that a program tests for or writes, recorded in the trace."""

from __future__ import annotations

from collections.abc import Iterable

from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.trace import FileEvent
from ddpdoctor.lint.knowledge import filesystem, heuristics
from ddpdoctor.lint.knowledge.filesystem import Entry, Use
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.symbols import file_question
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import Keywords, Symbol, Taint, Value
from ddpdoctor.program.sites import SourceSite


def concerns(path: str) -> bool:
    """Whether a function may test for or write a file, by its path."""
    known = path in filesystem.FUNCTIONS or path == filesystem.OPEN
    return known or heuristics.WRITES_FILES.found_in(path.rpartition(".")[2])


def concerns_method(name: str) -> bool:
    """Whether a method of that name may test for or write a file."""
    known = name in filesystem.OF_PATHS or name in filesystem.OF_OBJECTS or name == "open"
    return known or heuristics.WRITES_FILES.found_in(name)


def function(frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords, site: SourceSite) -> Value | None:
    """Record a file that is tested for or written; returns the result of a test."""
    row = filesystem.FUNCTIONS.get(path)
    if row is None:
        if path == filesystem.OPEN:
            if args and _opens_to_write(args, keywords):
                _written(frame, args[:1], Entry.FILE, site)
        elif args and heuristics.WRITES_FILES.found_in(path.rpartition(".")[2]):
            _written(frame, args, Entry.UNKNOWN, site)
        return None
    given = args[row.position] if len(args) > row.position else next((v for k, v in keywords if k == row.name), None)
    if given is None:
        return None
    if row.use is Use.ASKS:
        return _asked(frame, given, row.entry, site)
    if row.use in filesystem.CHANGES:
        _written(frame, (given,), row.entry, site)
    return None


def method(frame: Frame, name: str, receiver: Value, args: tuple[Value, ...], site: SourceSite) -> Value | None:
    """The same for a method of a path, or of an object that takes a path."""
    own, given = filesystem.OF_PATHS.get(name), filesystem.OF_OBJECTS.get(name)
    if own is not None:
        if own.use is Use.ASKS and not args:
            return _asked(frame, receiver, own.entry, site)
        if own.use in filesystem.CHANGES:
            _written(frame, (receiver,), own.entry, site)
    elif given is not None:
        # a string's `replace` has two arguments
        if given.use in filesystem.CHANGES and (given.use is not Use.MOVES or len(args) == 1):
            _written(frame, args[:1], given.entry, site)
    elif name == "open" and _opens_to_write((receiver, *args), ()):
        _written(frame, (receiver,), Entry.FILE, site)
    elif heuristics.WRITES_FILES.found_in(name):
        _written(frame, args, Entry.UNKNOWN, site)
    return None


def _opens_to_write(args: tuple[Value, ...], keywords: Keywords) -> bool:
    mode = args[1] if len(args) > 1 else next((v for k, v in keywords if k == "mode"), None)
    text = mode.constant if mode is not None else None
    return isinstance(text, str) and not text.startswith("r")


def _name(path: Value) -> object:
    """The identity of a path: `Path(x)` and `str(x)` name the same file as x."""
    obj = path.object
    while isinstance(obj, Made) and obj.path in ("pathlib.Path", "builtins.str") and len(obj.args) == 1:
        path = obj.args[0]
        obj = path.object
    return path.atoms


def _asked(frame: Frame, path: Value, entry: Entry, site: SourceSite) -> Value:
    key = file_question(_name(path), entry.value)
    frame.out.append(FileEvent("asked", _name(path), entry.value, site))
    tags = Tag.FILE | Tag.OWN_FILE if len(path.atoms) > 1 or path.tags & ANY_RANK else Tag.FILE
    return Value((Symbol(key, Taint.FILES),), Taint.FILES, None, tags)


def _written(frame: Frame, paths: Iterable[Value], entry: Entry, site: SourceSite) -> None:
    for path in paths:
        if not path.known or isinstance(path.atoms[0], str):
            frame.out.append(FileEvent("written", _name(path), entry.value, site))
