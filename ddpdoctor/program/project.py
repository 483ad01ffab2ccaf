"""Where the project's own modules are: dotted names to parsed files, lazily, cached, read through a given function."""

from __future__ import annotations

import posixpath
from collections import OrderedDict
from collections.abc import Callable

from ddpdoctor.program import indexing, libraries, source
from ddpdoctor.program.modules import Module

#: characters of source whose trees are kept, at about 40 bytes each; an old one is parsed again when it is needed again
KEPT = 2_000_000
#: Characters of other files' source that are followed for one linted file. What it imports beyond that is as unknown
#: as an installed package: a file of a library with thousands of modules can reach all of them, which takes minutes.
FOLLOWED = 1_000_000
#: files of which each project has one in its outermost folder
_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git/HEAD", ".git")
#: folders that are climbed in search of it
CLIMBED = 8


class Project:
    """Finds and parses files on demand. `read` gives a file's bytes or text, or None where there is none."""

    def __init__(
        self,
        read: Callable[[str], bytes | str | None],
        is_file: Callable[[str], bool] | None = None,
        *,
        followed: int | None = None,
        rootless: bool = False,
    ) -> None:
        """`is_file` tells what `read` could read, where that can be known for less.

        `followed`: characters of source that are looked into for one file, FOLLOWED if nothing is said.
        `rootless`: `read` knows the program's files alone, and none that marks the root of a project.
        """
        self._rootless = rootless
        self._roots_above: dict[str, list[str]] = {}
        self._read = read
        self._is_file = is_file or (lambda path: read(path) is not None)
        self._parsed: OrderedDict[str, Module | None] = OrderedDict()
        self._there: dict[str, bool] = {}
        self._packages: dict[str, tuple[str, str]] = {}
        self._kept = 0
        #: files that the present one has asked for, and whether they are followed
        self._followed: dict[str, bool] = {}
        self._most = self._left = FOLLOWED if followed is None else followed

    def file(self, path: str, name: str) -> Module | None:
        """The module at `path`; None where there is none, where it cannot be parsed or is not followed any more."""
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

    def adopt(self, module: Module) -> None:
        """Begin with a file that is linted; it is there for the next ones too."""
        self._followed = {module.path: True}
        self._left = self._most
        self._keep(module.path, module)

    def _follows(self, path: str, size: int) -> bool:
        """Whether a module is looked into for the present file; the same whatever is still kept of earlier ones."""
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
        # the present file's are the newest: they stay, and none is parsed twice for one file
        while self._kept > KEPT and (oldest := next(iter(self._parsed))) not in self._followed:
            old = self._parsed.pop(oldest)
            self._kept -= _size(old)
            if old is not None:
                indexing.release(old)

    def exists(self, path: str) -> bool:
        found = self._there.get(path)
        if found is None:
            found = self._there[path] = self._is_file(path)
        return found

    def package(self, path: str) -> tuple[str, str]:
        """(folder that imports start from, dotted name of the file) for a file: packages are climbed out of."""
        known = self._packages.get(path)
        if known is None:
            known = self._packages[path] = self._package(path)
        return known

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
        """The local module `name` as the file `origin` would import it; None for what is not the project's own."""
        path = self.where(name, origin.path)
        return self.file(path, self.package(path)[1] if name.startswith(".") else name) if path else None

    def has(self, target: str, origin: Module) -> bool:
        """Whether what `origin` imports is a module of the project, or in one; none is read for it."""
        return bool(self.where(target, origin.path) or self.where(target.rpartition(".")[0], origin.path))

    def where(self, name: str, origin: str) -> str:
        """The file of the module `name` as the file at the path `origin` would import it, "" where there is none."""
        if not name:
            return ""
        head = name.partition(".")[0]
        root, own = self.package(origin)
        if not head:
            # a relative import out of a package without __init__.py: each dot but the first is a folder up
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
        """Where a script looks: beside itself and its package, in the folders up to the project's root and their `src`.

        Never among installed packages. What has the name of a library is that library, and no folder far above.
        """
        beside = posixpath.dirname(path)
        folders = [beside, root, posixpath.dirname(root), posixpath.join(root, "src")]
        if head not in libraries.KNOWN and head not in libraries.STANDARD_LIBRARY:
            above = self._above(root)
            folders += [*above, *(posixpath.join(folder, "src") for folder in above)]
        unique = list(dict.fromkeys(folders))
        return [f for f in unique if posixpath.basename(f) not in libraries.FOLDERS]

    def _above(self, folder: str) -> list[str]:
        """The folder and those above it, up to the project's root; nothing where no root is known."""
        known = self._roots_above.get(folder)
        if known is None:
            known = self._roots_above[folder] = self._climb(folder)
        return known

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
    """What a module counts; a file that is none is remembered for little."""
    return len(module.text) if module is not None else 100
