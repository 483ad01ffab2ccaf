"""Where the project's own modules are: dotted names to parsed files, lazily, cached, read through a given function."""

from __future__ import annotations

import posixpath
from collections import OrderedDict
from collections.abc import Callable

from ddpdoctor.lint import source
from ddpdoctor.lint.facts import modules
from ddpdoctor.lint.facts.modules import Module

#: characters of source whose trees are kept, at about 40 bytes each; an old one is parsed again when it is needed again
KEPT = 1_000_000


class Project:
    """Finds and parses files on demand. `read` gives a file's bytes, or None where there is none."""

    def __init__(self, read: Callable[[str], bytes | None], is_file: Callable[[str], bool] | None = None) -> None:
        """`is_file` tells what `read` could read, where that can be known for less."""
        self._read = read
        self._is_file = is_file or (lambda path: read(path) is not None)
        self._parsed: OrderedDict[str, Module | None] = OrderedDict()
        self._there: dict[str, bool] = {}
        self._packages: dict[str, tuple[str, str]] = {}
        self._kept = 0

    def file(self, path: str, name: str) -> Module | None:
        """The module at `path`; None where there is none or it cannot be parsed."""
        if path in self._parsed:
            self._parsed.move_to_end(path)
            return self._parsed[path]
        raw = self._read(path)
        module = None
        if raw is not None and len(raw) <= source.LARGEST:
            decoded = source.decode(raw)
            if isinstance(decoded, source.Source):
                tree = source.parse(decoded.text)
                if not isinstance(tree, source.Unreadable):
                    module = modules.build(path, name, decoded.text, tree)
        self._keep(path, module)
        return module

    def adopt(self, module: Module) -> None:
        """Remember a module that was parsed elsewhere."""
        self._keep(module.path, module)

    def _keep(self, path: str, module: Module | None) -> None:
        earlier = self._parsed.pop(path, None)
        self._parsed[path] = module
        self._kept += _size(module) - _size(earlier)
        while self._kept > KEPT and len(self._parsed) > 1:
            self._kept -= _size(self._parsed.popitem(last=False)[1])

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
        head = name.partition(".")[0]
        root, own = self.package(origin.path)
        roots = [root] if own.partition(".")[0] == head and "." in own else self._roots(origin.path, root)
        relative = name.replace(".", "/")
        for folder in roots:
            for path in (f"{folder}/{relative}.py", f"{folder}/{relative}/__init__.py"):
                candidate = posixpath.normpath(path)
                if self.exists(candidate):
                    return self.file(candidate, name)
        return None

    def _roots(self, path: str, root: str) -> list[str]:
        """Where a script looks: beside itself and its package, one folder up; never among installed packages."""
        folders = [posixpath.dirname(path), root, posixpath.dirname(root), posixpath.join(root, "src")]
        unique = list(dict.fromkeys(folders))
        return [f for f in unique if posixpath.basename(f) not in ("site-packages", "dist-packages")]


def _size(module: Module | None) -> int:
    """What a module counts; a file that is none is remembered for little."""
    return len(module.text) if module is not None else 100
