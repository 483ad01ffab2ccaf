"""Which calls write, read or need which path, and when two paths are the same or one is in the other."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import ANY_RANK
from ddpdoctor.lint.values.values import Symbol, Value, unknown
from ddpdoctor.model.record import record

#: a path as parts that can be compared: constant names and symbols
Parts = tuple[Any, ...]


class Use(Enum):
    """What a call does with a path."""

    WRITES_FILE = "writes"
    MAKES_FOLDER = "makes"
    #: fills a folder: downloads, unpacks, saves a model
    FILLS = "fills"
    READS = "reads"
    LISTS = "lists"


@record(frozen=True, slots=True)
class Touch:
    """A call that uses a path."""

    call: CallEvent
    use: Use
    parts: Parts


_W, _M, _F, _R, _L = Use.WRITES_FILE, Use.MAKES_FOLDER, Use.FILLS, Use.READS, Use.LISTS
#: function -> (position and name of the path, what it does with it)
_FUNCTIONS: dict[str, tuple[int, str, Use]] = {
    "os.makedirs": (0, "name", _M),
    "os.mkdir": (0, "path", _M),
    "torch.save": (1, "f", _W),
    "numpy.save": (0, "file", _W),
    "numpy.savez": (0, "file", _W),
    "numpy.savetxt": (0, "fname", _W),
    "shutil.copy": (1, "dst", _W),
    "shutil.copy2": (1, "dst", _W),
    "shutil.copyfile": (1, "dst", _W),
    "shutil.move": (1, "dst", _F),
    "shutil.copytree": (1, "dst", _F),
    "shutil.unpack_archive": (1, "extract_dir", _F),
    "urllib.request.urlretrieve": (1, "filename", _W),
    "torch.hub.download_url_to_file": (1, "dst", _W),
    "torchvision.datasets.utils.download_url": (1, "root", _F),
    "torchvision.datasets.utils.download_and_extract_archive": (1, "download_root", _F),
    "torch.load": (0, "f", _R),
    "torch.jit.load": (0, "f", _R),
    "numpy.load": (0, "file", _R),
    "numpy.loadtxt": (0, "fname", _R),
    "numpy.genfromtxt": (0, "fname", _R),
    "numpy.fromfile": (0, "file", _R),
    "PIL.Image.open": (0, "fp", _R),
    "datasets.load_from_disk": (0, "dataset_path", _R),
    "os.listdir": (0, "path", _L),
    "os.scandir": (0, "path", _L),
    "logging.FileHandler": (0, "filename", _W),
}
#: methods of objects whose first argument is the path
_METHODS: dict[str, Use] = {
    "save_pretrained": _F, "save_to_disk": _F, "to_csv": _W, "to_parquet": _W, "extractall": _F,
    "from_pretrained": _R,
}  # fmt: skip
#: methods of a path itself
_OF_PATHS: dict[str, Use] = {
    "mkdir": _M, "write_text": _W, "write_bytes": _W, "read_text": _R, "read_bytes": _R, "iterdir": _L,
}  # fmt: skip
_SAME = frozenset({
    "pathlib.Path", "os.path.abspath", "os.path.realpath", "os.path.expanduser", "os.fspath", "os.path.normpath",
    "os.path.join",
})  # fmt: skip
#: text that was too long to follow into a callee: equal symbols do not mean equal text
_ANY_TEXT = unknown("argument", "str").atoms[0]


def touches(facts: ModuleFacts) -> list[Touch]:
    """Every use of a path that can be compared, in order of execution."""
    return [touch for call in facts.calls if (touch := _touch(call)) is not None]


def _touch(call: CallEvent) -> Touch | None:
    use, path = _use(call)
    parts = parts_of(path) if path is not None else None
    return Touch(call, use, parts) if use is not None and parts else None


def _use(call: CallEvent) -> tuple[Use | None, Value | None]:
    if call.path == "builtins.open":
        return _opened(call), call.argument(0, "file")
    if call.path.startswith("torchvision.datasets.") and call.path.count(".") == 2:
        download = call.keyword("download")
        return (_F if download is not None and download.constant is True else _R), call.argument(0, "root")
    if call.path.startswith("pandas.read_"):
        return _R, call.argument(0, "filepath_or_buffer")
    if call.path.endswith(".from_pretrained"):
        return _R, call.argument(0, "pretrained_model_name_or_path")
    known = _FUNCTIONS.get(call.path)
    if known is not None:
        return known[2], call.argument(known[0], known[1])
    if call.path:
        return None, None
    if call.method in _OF_PATHS:
        return _OF_PATHS[call.method], call.receiver
    return _METHODS.get(call.method), call.args[0] if call.args else None


def _opened(call: CallEvent) -> Use | None:
    mode = call.argument(1, "mode")
    if mode is None:
        return _R
    text = mode.constant
    if not isinstance(text, str):
        return None
    return _W if set(text) & set("wax") else _R


#: joins within joins that are followed
_DEEPEST = 8


def parts_of(value: Value, depth: int = 0) -> Parts | None:
    """The path in parts; None where it differs by rank, cannot be compared or is joined of too many joins."""
    obj = value.object
    if isinstance(obj, Made) and obj.path in _SAME and obj.args:
        given = [parts_of(a, depth + 1) for a in obj.args] if depth < _DEEPEST else [None]
        if given[0] is None:
            return None
        # a name in it that differs by rank, or that cannot be told, is like no other
        return tuple(p for g in given for p in (g if g is not None else (object(),)))
    if len(value.atoms) > 1 or value.tags & ANY_RANK:
        return None
    atom = value.atoms[0]
    if isinstance(atom, str):
        names = tuple(name for name in atom.split("/") if name not in ("", "."))
        return ("/", *names) if atom.startswith("/") else names
    return (atom.key,) if isinstance(atom, Symbol) and atom != _ANY_TEXT else None


def needs(reader: Touch, writer: Touch) -> bool:
    """Whether `reader` fails, or reads something else, unless `writer` came before."""
    mine, theirs = reader.parts, writer.parts
    inside = len(mine) > len(theirs) and mine[: len(theirs)] == theirs
    if writer.use is Use.MAKES_FOLDER:
        return (inside and reader.use is not Use.MAKES_FOLDER) or (mine == theirs and reader.use is Use.LISTS)
    if reader.use not in (Use.READS, Use.LISTS):
        return False
    if mine == theirs:
        return True
    if writer.use is Use.FILLS:
        return inside
    # a folder is listed for the files that a loop has put there, not for a log beside them
    return reader.use is Use.LISTS and theirs[: len(mine)] == mine and bool(writer.call.context.loops)
