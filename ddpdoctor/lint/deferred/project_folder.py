"""Which folder the project of a file is, and which one its repository. Impure: reads disk."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from itertools import islice

from ddpdoctor.lint.files import AROUND, is_file, names_in, read_file
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program.project import CLIMBED

#: most files beside a folder that are asked whether they import what is in it
MOST = 300
#: a file is run itself
IS_PROGRAM = late_pattern(rb"^if[ \t(]+__name__[ \t]*==", re.MULTILINE)


def root_of(top: str) -> str:
    """The folder of the repository that a project is in, "" if there is none; of a copy without its history (an
    archive, an image), the outermost folder below the user's own that has what repositories have."""
    around = [top]
    while len(around) < CLIMBED:
        around.append(posixpath.dirname(around[-1]))
    home = os.path.expanduser("~")  # noqa: PTH111 - as the folders that are climbed out of
    below = around[: around.index(home)] if home in around else around
    return next(filter(_is_root, around), "") or next(filter(_looks_like_root, reversed(below)), "")


def top_of(path: str) -> str:
    """The folder of a file's project: the one that contains the outermost package, or the file itself. What a program
    further up in the repository imports is a package, too, without a file that says so."""
    folder = posixpath.dirname(path)
    top = folder
    # the folder around a repository is no part of it, even if the repository is a package
    while is_file(f"{top}/__init__.py") and not _is_root(top):
        folder, top = top, posixpath.dirname(top)
    if (importing := _importing(top)) != top:
        return importing
    if _is_root(top):
        return top
    return _imported_from(top) or (folder if posixpath.basename(top) in AROUND else top)


def _imported_from(top: str) -> str:
    """The nearest folder around, in the same repository, of which the programs in this one import what this one lacks:
    scripts that are started from there; "" if they import nothing of it."""
    texts = (read_file(f"{top}/{entry}") or b"" for entry in names_in(top) if entry.endswith(".py"))
    wanted = {name.decode() for text in texts for name in _IMPORTED.findall(text)}
    wanted -= {entry.partition(".")[0] for entry in names_in(top)}
    around = top
    for _ in range(CLIMBED):
        around = posixpath.dirname(around)
        if any(_is_module(around, name) for name in wanted):
            return around if _in_repository(around) else ""
        if _is_root(around) or around in ("/", ""):
            break
    return ""


#: the modules that a file imports, by the first part of their names
_IMPORTED = late_pattern(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)


def _is_module(folder: str, name: str) -> bool:
    """Whether a folder has a module or package of programs of this name."""
    if is_file(f"{folder}/{name}.py"):
        return True
    return any(entry.endswith(".py") for entry in names_in(f"{folder}/{name}"))


def _in_repository(folder: str) -> bool:
    for _ in range(CLIMBED):
        if _is_root(folder):
            return True
        folder = posixpath.dirname(folder)
    return False


def _importing(top: str) -> str:
    """The outermost folder of the same repository in which a program imports what is in this one; itself if none
    does."""
    found, inside = top, top
    for _ in range(CLIMBED):
        around, name = posixpath.split(inside)
        if _is_root(inside) or not name.isidentifier() or around in ("/", ""):
            break
        if _imports(around, name):
            found = around
        inside = around
    return found if _is_root(inside) else top


def _imports(folder: str, name: str) -> bool:
    """Whether a program in the folder, or a script in one of its folders, imports something of a folder in it."""
    named = re.compile(rb"^[ \t]*(?:from|import)[ \t]+" + re.escape(name.encode()) + rb"\b", re.MULTILINE)
    beside = (entry for entry in names_in(folder) if entry.endswith(".py"))
    if any(named.search(read_file(f"{folder}/{entry}") or b"") for entry in beside):
        return True
    inside = (read_file(path) or b"" for path in islice(_below_beside(folder, name), MOST))
    return any(IS_PROGRAM.search(text) and named.search(text) for text in inside)


def _below_beside(folder: str, name: str) -> Iterator[str]:
    """The Python files in the folders of a folder, but of what has something of that name itself, which comes first."""
    for entry in names_in(folder):
        if entry in AROUND or entry.startswith(".") or entry.endswith(".py"):
            continue
        below = names_in(f"{folder}/{entry}")
        if entry != name and name not in below and f"{name}.py" not in below:
            yield from (f"{folder}/{entry}/{file}" for file in below if file.endswith(".py"))


def _is_root(folder: str) -> bool:
    """Whether it is the folder of a repository."""
    return os.path.exists(f"{folder}/.git")  # noqa: PTH110 - as the folders that are climbed out of


#: what lies in the folder of a repository as a rule, and in others not together: names in lower case, without endings
_OF_ROOTS = ((".github",), ("license",), ("licence",), (".gitignore", "readme"))


def _looks_like_root(folder: str) -> bool:
    held = {name.lower().rpartition(".")[0] or name.lower() for name in names_in(folder)}
    return any(held.issuperset(names) for names in _OF_ROOTS)
