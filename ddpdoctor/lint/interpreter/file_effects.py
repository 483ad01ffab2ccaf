"""Files that a program asks for or writes, noted in the trace."""

from __future__ import annotations

from collections.abc import Iterable

from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.trace import FileEvent
from ddpdoctor.lint.knowledge.filesystem import ANYTHING, ASKING, ASKS, FOLDERS, MOVING, WRITES, WRITING, makes
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.symbols import file_question
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import Keywords, Symbol, Taint, Value
from ddpdoctor.program.sites import SourceSite


def function(frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords, site: SourceSite) -> Value | None:
    """Take note of a file that is asked for or written; what the question gives."""
    if path in ASKS and args:
        return _asked(frame, args[0], ASKS[path], site)
    position = WRITES.get(path)
    if position is None:
        if args and makes(path.rpartition(".")[2]):
            _written(frame, args, "", site)
    elif len(args) > position and (path != "builtins.open" or _opens_to_write(args, keywords)):
        _written(frame, (args[position],), path.rpartition(".")[2], site)
    return None


def method(frame: Frame, name: str, receiver: Value, args: tuple[Value, ...], site: SourceSite) -> Value | None:
    """The same for the method of a path, or of something that is given one."""
    if name in ASKING and not args:
        return _asked(frame, receiver, ASKING[name], site)
    if name in WRITING or (name == "open" and _opens_to_write((receiver, *args), ())):
        _written(frame, (receiver,), name, site)
    elif name in MOVING or makes(name):
        _written(frame, args, name if name in MOVING else "", site)
    return None


def _opens_to_write(args: tuple[Value, ...], keywords: Keywords) -> bool:
    mode = args[1] if len(args) > 1 else next((v for k, v in keywords if k == "mode"), None)
    text = mode.constant if mode is not None else None
    return isinstance(text, str) and not text.startswith("r")


def _name(path: Value) -> object:
    """What makes two paths the same: `Path(x)` and `str(x)` are where x is."""
    obj = path.object
    while isinstance(obj, Made) and obj.path in ("pathlib.Path", "builtins.str") and len(obj.args) == 1:
        path = obj.args[0]
        obj = path.object
    return path.atoms


def _asked(frame: Frame, path: Value, what: str, site: SourceSite) -> Value:
    key = file_question(_name(path), what)
    frame.out.append(FileEvent("asked", _name(path), what, site))
    tags = Tag.FILE | Tag.OWN_FILE if len(path.atoms) > 1 or path.tags & ANY_RANK else Tag.FILE
    return Value((Symbol(key, Taint.FILES),), Taint.FILES, None, tags)


def _written(frame: Frame, paths: Iterable[Value], by: str, site: SourceSite) -> None:
    """`by`: the function that writes; "" where what it makes is not known."""
    what = "folder" if by in FOLDERS else "anything" if by in ANYTHING else "file" if by else ""
    for path in paths:
        if not path.known or isinstance(path.atoms[0], str):
            frame.out.append(FileEvent("written", _name(path), what, site))
