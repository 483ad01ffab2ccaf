"""Files that a rank looks for while another may be writing them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.things import Made, Site
from ddpdoctor.lint.facts.trace import Alt, Exit, Loop, Mark, Op, Scope, Trace
from ddpdoctor.lint.facts.values import REASONS, Symbol, Taint, Value

Keywords = tuple[tuple[str, Value], ...]

#: questions, and what is asked for: a folder that is made does not change the answer of `isfile`
_ASKS = {"os.path.exists": "", "os.path.lexists": "", "os.path.isfile": "file", "os.path.isdir": "folder"}
_ASKING = {"exists": "", "is_file": "file", "is_dir": "folder"}
_FOLDERS = frozenset({"mkdir", "makedirs", "copytree", "rmtree"})
_ANYTHING = frozenset({"rename", "replace", "move", "symlink_to"})
#: functions that make, change or remove a file: the position of its path
_WRITES = {
    "torch.save": 1, "builtins.open": 0, "os.makedirs": 0, "os.mkdir": 0, "os.rename": 1, "os.replace": 1,
    "os.remove": 0, "os.unlink": 0, "shutil.copy": 1, "shutil.copyfile": 1, "shutil.copytree": 1, "shutil.move": 1,
    "shutil.rmtree": 0, "numpy.save": 0, "numpy.savez": 0, "safetensors.torch.save_file": 1,
}  # fmt: skip
#: methods of a path, and methods whose argument is the new path
_WRITING = frozenset({"touch", "write_text", "write_bytes", "mkdir", "unlink", "symlink_to"})
_MOVING = frozenset({"rename", "replace"})
#: other functions that are given the path: what their names promise
_MAKES = re.compile(
    r"^_?(save|write|dump|build|make|create|download|fetch|extract|prepare|preprocess|generate|export|process|store|tar"
    r"|unzip|untar|tokenize|retrieve|urlretrieve|to_(csv|json|parquet|pickle))",
    re.IGNORECASE,
)


@lru_cache(maxsize=1 << 12)
def _makes(name: str) -> bool:
    return _MAKES.search(name) is not None


def function(frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords, site: Site) -> Value | None:
    """Take note of a file that is asked for or written; what the question gives."""
    if path in _ASKS and args:
        return _asked(frame, args[0], _ASKS[path], site)
    position = _WRITES.get(path)
    if position is None:
        if args and _makes(path.rpartition(".")[2]):
            _written(frame, args, "", site)
    elif len(args) > position and (path != "builtins.open" or _opens_to_write(args, keywords)):
        _written(frame, (args[position],), path.rpartition(".")[2], site)
    return None


def method(frame: Frame, name: str, receiver: Value, args: tuple[Value, ...], site: Site) -> Value | None:
    """The same for the method of a path, or of something that is given one."""
    if name in _ASKING and not args:
        return _asked(frame, receiver, _ASKING[name], site)
    if name in _WRITING or (name == "open" and _opens_to_write((receiver, *args), ())):
        _written(frame, (receiver,), name, site)
    elif name in _MOVING or _makes(name):
        _written(frame, args, name if name in _MOVING else "", site)
    return None


def _opens_to_write(args: tuple[Value, ...], keywords: Keywords) -> bool:
    mode = args[1] if len(args) > 1 else next((v for k, v in keywords if k == "mode"), None)
    text = mode.constant if mode is not None else None
    return isinstance(text, str) and not text.startswith("r")


def _name(path: Value) -> object:
    """What makes two paths the same: `Path(x)` and `str(x)` are where x is."""
    thing = path.thing
    while isinstance(thing, Made) and thing.path in ("pathlib.Path", "builtins.str") and len(thing.args) == 1:
        path = thing.args[0]
        thing = path.thing
    return path.atoms


def _asked(frame: Frame, path: Value, what: str, site: Site) -> Value:
    key = _answer(_name(path), what)
    frame.out.append(Mark("asked", _name(path), what, site))
    tags = {"file", "own-file"} if len(path.atoms) > 1 or path.tags & {"rank", "local_rank"} else {"file"}
    return Value((Symbol(key, Taint.FILES),), Taint.FILES, None, frozenset(tags))


def _answer(path: object, what: str) -> int:
    """Equal for questions that have one answer."""
    return hash(("file", path, what))


def _written(frame: Frame, paths: Iterable[Value], by: str, site: Site) -> None:
    """`by`: the function that writes; "" where what it makes is not known."""
    what = "folder" if by in _FOLDERS else "anything" if by in _ANYTHING else "file" if by else ""
    for path in paths:
        if not path.known or isinstance(path.atoms[0], str):
            frame.out.append(Mark("written", _name(path), what, site))


def decides(branch: Alt) -> bool:
    """Whether a branch is on nothing but a file that all ranks ask for."""
    atom = branch.truth[0]
    asks = len(branch.truth) == 1 and isinstance(atom, Symbol) and atom.taint is Taint.FILES
    return asks and not branch.tags & (REASONS - {"file"}) and "own-file" not in branch.tags


def races(trace: Trace) -> dict[Site, Site]:
    """Branches on whether a file is there: where it is written, with no collective between that and the question."""
    walk = _Walk()
    walk.through(trace, frozenset(), [])
    found: dict[Site, Site] = {}
    for branch in walk.branches:
        head, atom = branch.site, branch.truth[0]
        for answer, (asked, written) in walk.found.items():
            # a branch's site is all of it: what is asked for in its body decides nothing about it
            if _made_of(atom, answer) or (asked.file == head.file and asked.line == head.line):
                found.setdefault(head, written)
    return found


def _made_of(atom: object, answer: int) -> bool:
    if not isinstance(atom, Symbol):
        return False
    return atom.key == answer or any(_made_of(part, answer) for part in atom.parts or ())


#: steps of one walk: helpers that call helpers many times over would make it endless
_MOST = 20_000
_Near = frozenset[Mark]
_Left = list[tuple[str, _Near]]


@dataclass(slots=True)
class _Walk:
    found: dict[int, tuple[Site, Site]] = field(default_factory=dict)
    #: branches on the way whose condition is what is on the disks
    branches: list[Alt] = field(default_factory=list)
    steps: int = 0

    def through(self, nodes: Trace, near: _Near, left: _Left) -> _Near | None:
        """Marks since the last collective on any way to the end of the nodes; None where none comes there."""
        for node in nodes:
            self.steps += 1
            if self.steps > _MOST:
                return None
            if isinstance(node, Mark):
                near = _meet(node, near, self.found)
            elif isinstance(node, Op):
                near = near if node.members is not None else frozenset()
            elif isinstance(node, Exit):
                if node.kind != "yield":
                    left.append((node.kind, near))
                    return None
            else:
                after = self._inside(node, near, left)
                if after is None:
                    return None
                near = after
        return near

    def _inside(self, node: Alt | Loop | Scope, near: _Near, left: _Left) -> _Near | None:
        """What stands inside, once: a loop is taken to run."""
        if isinstance(node, Alt):
            if any(isinstance(a, Symbol) and a.taint is Taint.FILES for a in node.truth):
                self.branches.append(node)
            ends = [self.through(side, near, left) for side in (node.then, node.other)]
        else:
            inner: _Left = []
            ends = [self.through(node.body, near, inner)]
            stops = ("return",) if isinstance(node, Scope) else ("break", "continue")
            ends += [state for kind, state in inner if kind in stops]
            left += [(kind, state) for kind, state in inner if kind not in stops]
        reached = [end for end in ends if end is not None]
        return frozenset().union(*reached) if reached else None


def _meet(mark: Mark, near: _Near, found: dict[int, tuple[Site, Site]]) -> _Near:
    for other in near:
        if other.path != mark.path or other.kind == mark.kind:
            continue
        asked, written = (mark, other) if mark.kind == "asked" else (other, mark)
        if not asked.what or written.what in (asked.what, "anything"):
            found.setdefault(_answer(asked.path, asked.what), (asked.site, written.site))
    return near | {mark}
