"""Whether a repository holds the file itself that all ranks would make where it is missing. Impure: reads files.

`if not os.path.exists(os.path.join(root, f"{split}.txt")): self.make_splits()`: who has the repository has the splits.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from ddpdoctor.lint.deferred.confirmation import Confirmation, ParsedPlace, parsed
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.files import listed, read_file
from ddpdoctor.lint.grounds import Listing
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program.enclosing import innermost_function, statements_around
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import shown, text_of

#: most files of one kind that are looked at
_MOST = 2_000
#: what asks whether there is a file, as functions of a path or methods of it
_ASKING = frozenset({"exists", "isfile", "is_file"})
#: what makes a path of one path alone
_SAME = frozenset({"Path", "str", "abspath", "realpath", "expanduser", "fspath", "normpath"})
#: variables that are made of others
_DEEPEST = 4
#: any part of a path that is not known
_ANY = "*"
#: a name that says which file it is: some letters, and an ending that is no program's
_TELLING = late_pattern(r"[A-Za-z]{3,}.*\.(?!py$)\w+$")


def shipped(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether what all ranks ask for before they make it is a file that the repository has."""
    if finding.code != "DD124" or finding.severity is Severity.HINT or not repository.root:
        return None
    noted = [(finding.file, finding.line), *((note.file, note.line) for note in finding.related)]
    for place in parsed(dict.fromkeys(noted)):
        for asked in _asked_where_missing(place):
            name = _name(asked, place, _DEEPEST)
            held = _held(repository, name) if _TELLING.search(posixpath.basename(name)) is not None else ""
            if held:
                said = f"the repository has {held[len(repository.root) + 1 :]}"
                return Confirmation(said, Severity.HINT, condition=f"if {shown(text_of(asked))} is missing, ")
    return None


def _asked_where_missing(place: ParsedPlace) -> Iterator[ast.expr]:
    """The paths for which an `if` at a line asks that does something where there is none."""
    for around in statements_around(place.tree, place.line):
        if isinstance(around, ast.If) and around.lineno == place.line:
            denied = {id(n.operand) for n in walk(around.test) if isinstance(n, ast.UnaryOp)}
            leaves = isinstance(around.body[-1], (ast.Return, ast.Raise))
            for node in walk(around.test):
                asked = _asked(node)
                if asked is not None and (id(node) in denied or around.orelse or leaves):
                    yield asked


def _asked(node: ast.AST) -> ast.expr | None:
    """The path of which a call asks whether it is there."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in _ASKING:
        return None
    if node.args:
        return node.args[0]
    return node.func.value if isinstance(node.func, ast.Attribute) else None


def _name(node: ast.expr, place: ParsedPlace, depth: int) -> str:
    """The end of a path as a pattern: its last part, with those before it that are known."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else _ANY
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else _ANY for one in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Add)):
        between = "/" if isinstance(node.op, ast.Div) else ""
        return f"{_name(node.left, place, depth)}{between}{_name(node.right, place, depth)}"
    if isinstance(node, ast.Call) and node.args:
        if last_name(node.func) == "join":
            return "/".join(_name(one, place, depth) for one in node.args)
        return _name(node.args[0], place, depth) if last_name(node.func) in _SAME else _ANY
    given = _given(node.id, place) if isinstance(node, ast.Name) and depth else None
    return _name(given, place, depth - 1) if given is not None else _ANY


def _given(name: str, place: ParsedPlace) -> ast.expr | None:
    """What a variable is given by its only assignment in the function around a place."""
    function = innermost_function(place.tree, place.line)
    nodes = walk(function if function is not None else place.tree)
    stored = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)]
    values = [n.value for n in nodes if isinstance(n, ast.Assign) and len(n.targets) == 1 and n.targets[0] in stored]
    return values[0] if len(values) == len(stored) == 1 else None


def _held(repository: Repository, name: str) -> str:
    """A file of the repository whose path ends as a pattern says, "" if there is none; where Git tells what belongs to
    the repository, not one that somebody has made in its folder."""
    known = name.rpartition(_ANY + "/")[2].lstrip("./")
    ending = posixpath.splitext(known)[1]
    index = read_file(f"{repository.root}/.git/index")
    for path in listed(Listing(repository.root, (ending,), _MOST)):
        inside = path[len(repository.root) + 1 :]
        fits = fnmatchcase(inside, re.sub(r"\[", "[[]", known)) or fnmatchcase(f"/{inside}", f"*/{known}")
        if fits and (index is None or inside.encode(errors="surrogateescape") in index):
            return path
    return ""
