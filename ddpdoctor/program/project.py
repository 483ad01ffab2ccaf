"""The project's own modules: from dotted names to parsed files, lazily, cached, read through a given function."""

from __future__ import annotations

import posixpath
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TypeVar

from ddpdoctor.program import indexing, libraries, source
from ddpdoctor.program.modules import Module

#: characters of source whose trees are kept, at about 40 bytes each; a dropped file is parsed again when needed
KEPT = 3_000_000
#: Characters of other files' source that are followed for one linted file. Imports beyond that are as unknown as an
#: installed package: a file of a library with thousands of modules can reach all of them, which takes minutes.
FOLLOWED = 1_000_000
#: files that mark a project's outermost folder
_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git/HEAD", ".git")
#: most parent folders that are searched for them
CLIMBED = 8
#: answers of one kind that are remembered from earlier files
REMEMBERED = 8_000

K = TypeVar("K")
A = TypeVar("A")
#: answers, each with the paths at which a file was looked for
_Answers = dict[K, tuple[A, frozenset[str]]]


class Project:
    """Finds and parses files on demand. `read` gives a file's bytes or text, or None if there is no such file."""

    def __init__(
        self,
        read: Callable[[str], bytes | str | None],
        is_file: Callable[[str], bool] | None = None,
        *,
        followed: int | None = None,
        rootless: bool = False,
    ) -> None:
        """`is_file` tells whether `read` would succeed, if there is a cheaper way to know.

        `followed`: characters of source that are followed for one file, FOLLOWED by default. `rootless`: `read` knows
        only the program's files, and none that marks the root of a project.
        """
        self._rootless = rootless
        self._roots_above: _Answers[str, list[str]] = {}
        self._read = read
        self._is_file = is_file or (lambda path: read(path) is not None)
        self._parsed: OrderedDict[str, Module | None] = OrderedDict()
        self._there: dict[str, bool] = {}
        self._packages: _Answers[str, tuple[str, str]] = {}
        self._located: _Answers[tuple[str, str], str] = {}
        #: what `where` has answered for the present file
        self._places: dict[tuple[str, str], str] = {}
        self._kept = 0
        #: files that the present file has asked for, and whether they are followed
        self._followed: dict[str, bool] = {}
        #: the same whether or not they are followed, exist or parse; and the paths at which a file was looked for
        self._consulted: set[str] = set()
        self._asked: set[str] = set()
        self._most = self._left = FOLLOWED if followed is None else followed

    def file(self, path: str, name: str) -> Module | None:
        """The module at `path`; None if it does not exist, cannot be parsed, or is beyond what is followed."""
        self._consulted.add(path)
        if path in self._parsed:
            self._parsed.move_to_end(path)
            module = self._parsed[path]
            return module if module is not None and self._follows(path, len(module.text)) else None
        raw = self._read(path)
        decoded = _decoded(raw) if raw is not None and len(raw) <= source.LARGEST else None
        module = None
        if isinstance(decoded, source.DecodedSource):
            if not self._may_follow(path, len(decoded.text)):
                return None
            tree = source.parse(decoded.text)
            if not isinstance(tree, source.Unreadable):
                module = indexing.build(path, name, decoded.text, tree)
                self._follows(path, len(decoded.text))
        self._keep(path, module)
        return module

    def parsed(self, path: str, name: str, text: str) -> Module | None:
        """The module that was parsed when an earlier file imported this one, if it would be the same."""
        module = self._parsed.get(path)
        return module if module is not None and module.name == name and module.text == text else None

    def adopt(self, module: Module) -> None:
        """Make a linted file the present one; later files can import it too."""
        self._places.clear()
        self._consulted, self._asked = set(), set()
        self.package(module.path)
        self._followed = {module.path: True}
        self._left = self._most
        self._keep(module.path, module)

    def grounds(self) -> tuple[set[str], dict[str, bool]]:
        """What all answers for the present file rest on: the files that were read or could not be, and whether there is
        a file at the paths that were looked at.
        """
        return self._consulted, {path: self._there[path] for path in self._asked}

    def followed(self) -> Iterator[Module]:
        """The present file, and the files that were followed for it until now."""
        modules = (self._parsed.get(path) for path, followed in self._followed.items() if followed)
        return (module for module in modules if module is not None)

    def _follows(self, path: str, size: int) -> bool:
        """Whether a module is followed for the present file; independent of what is still cached from earlier files."""
        followed = self._may_follow(path, size)
        if path not in self._followed:
            self._followed[path] = followed
            self._left -= size if followed else 0
        return followed

    def _may_follow(self, path: str, size: int) -> bool:
        return self._followed.get(path, size <= self._left)

    def _keep(self, path: str, module: Module | None) -> None:
        earlier = self._parsed.pop(path, None)
        self._parsed[path] = module
        self._kept += _size(module) - _size(earlier)
        if earlier is not None and earlier is not module:
            indexing.release(earlier)  # had another name, or another text, for the file before
        # the present file's modules are the newest: they stay cached, and none is parsed twice for one file
        while self._kept > KEPT and (oldest := next(iter(self._parsed))) not in self._followed:
            old = self._parsed.pop(oldest)
            self._kept -= _size(old)
            if old is not None:
                indexing.release(old)

    def exists(self, path: str) -> bool:
        self._asked.add(path)
        found = self._there.get(path)
        if found is None:
            found = self._there[path] = self._is_file(path)
        return found

    def package(self, path: str) -> tuple[str, str]:
        """(folder that imports start from, dotted name of the file): the folder is the first above that is
        no package.
        """
        return self._remembered(self._packages, path, self._package)

    def _package(self, path: str) -> tuple[str, str]:
        folder = posixpath.dirname(path)
        stem = posixpath.basename(path).removesuffix(".py")
        parts = [] if stem == "__init__" else [stem]
        while folder and posixpath.basename(folder).isidentifier() and self._is_package(folder):
            parts.insert(0, posixpath.basename(folder))
            folder = posixpath.dirname(folder)
        return folder, ".".join(parts) or stem

    def _is_package(self, folder: str) -> bool:
        return self.exists(posixpath.join(folder, "__init__.py"))

    def find(self, name: str, origin: Module) -> Module | None:
        """The local module `name` as the file `origin` would import it; None if it is not the project's own."""
        path = self.where(name, origin.path)
        return self.file(path, self.package(path)[1] if name.startswith(".") else name) if path else None

    def has(self, target: str, origin: Module) -> bool:
        """Whether an import of `origin` names a module of the project, or something in one; reads no file for it."""
        return bool(self.where(target, origin.path) or self.where(target.rpartition(".")[0], origin.path))

    def where(self, name: str, origin: str) -> str:
        """The file of the module `name` as the file at the path `origin` would import it, "" if there is none."""
        if not name:
            return ""
        known = self._places.get((name, origin))
        if known is None:
            key = (name, origin)
            known = self._places[key] = self._remembered(self._located, key, self._where)
        return known

    def _remembered(self, answers: _Answers[K, A], key: K, find: Callable[[K], A]) -> A:
        """What `find` answers, or has answered for an earlier file: the present one rests on the same paths."""
        known = answers.get(key)
        if known is None:
            if len(answers) >= REMEMBERED:
                answers.clear()
            outer, self._asked = self._asked, set()
            answer = find(key)
            known = answers[key] = answer, frozenset(self._asked)
            self._asked = outer
        self._asked |= known[1]
        return known[0]

    def _where(self, asked: tuple[str, str]) -> str:
        name, origin = asked
        head = name.partition(".")[0]
        root, own = self.package(origin)
        if not head:
            # a relative import from a package without __init__.py: each dot but the first is a folder up
            relative = name.lstrip(".")
            above = posixpath.join(posixpath.dirname(origin), *[".."] * (len(name) - len(relative) - 1))
            roots = [posixpath.normpath(above)]
        elif own.partition(".")[0] == head and "." in own:
            relative, roots = name, [root]
        else:
            relative, roots = name, self._roots(origin, root, head)
        relative = relative.replace(".", "/")
        for folder in roots:
            for path in (f"{folder}/{relative}.py", f"{folder}/{relative}/__init__.py"):
                candidate = posixpath.normpath(path)
                if self.exists(candidate):
                    return candidate
        return ""

    def _roots(self, path: str, root: str, head: str) -> list[str]:
        """The folders in which a script's imports are searched: its own and its package's, those up to the project's
        root, and their `src`.

        Installed packages are excluded. A name of a known library is that library, not a folder further up.
        """
        beside = posixpath.dirname(path)
        folders = [beside, root, posixpath.dirname(root), posixpath.join(root, "src")]
        if head not in libraries.KNOWN and head not in libraries.STANDARD_LIBRARY:
            above = self._above(root)
            folders += [*above, *(posixpath.join(folder, "src") for folder in above)]
        unique = list(dict.fromkeys(folders))
        return [f for f in unique if posixpath.basename(f) not in libraries.FOLDERS]

    def _above(self, folder: str) -> list[str]:
        """The folder and those above it, up to the project's root; empty if no root is known."""
        return self._remembered(self._roots_above, folder, self._climb)

    def _climb(self, folder: str) -> list[str]:
        found: list[str] = []
        while len(found) < CLIMBED and folder and posixpath.basename(folder) not in (*libraries.FOLDERS, ""):
            found.append(folder)
            if any(self.exists(posixpath.join(folder, mark)) for mark in _MARKS):
                return found
            folder = posixpath.dirname(folder)
        return found if self._rootless else []


def _decoded(raw: bytes | str) -> source.DecodedSource | source.Unreadable:
    return source.DecodedSource(raw) if isinstance(raw, str) else source.decode(raw)


def _size(module: Module | None) -> int:
    """The size that a module counts in the cache; a small number if there is no module."""
    return len(module.text) if module is not None else 100
