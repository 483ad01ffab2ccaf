"""Where an import of a project's own module ends in an error: there is no such module, it lacks the name, or it does
not parse in any version of Python 3. Pure.

Only imports that surely run count: the statements of a module outside of conditions and `try`.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from ddpdoctor.lint.knowledge.packages import LIBRARIES, LOCAL_NAMES, SET_ASIDE
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import source
from ddpdoctor.program.enclosing import FUNCTIONS
from ddpdoctor.program.nodes import walk

#: what a merge leaves where it could not decide
_CONFLICT = late_pattern(rb"^<<<<<<< .*?^>>>>>>> ", re.MULTILINE | re.DOTALL)
#: what a parser says of what only Python 2 parses
_PRINTED = "Missing parentheses in call to"
#: what may give a module names, or a package modules, that its statements do not show
_HIDDEN = late_pattern(rb"__getattr__|globals\(|locals\(|vars\(|exec\(|sys\.modules|setattr\(|__path__|import_module")
#: names of modules that are compiled (`_C`, `ops_cuda`) or generated as a rule
_BUILT = late_pattern(r"^_|_(?:pb2(?:_grpc)?|cuda|cpp|ext)$")
#: what is said of a relative import out of what a program imports
_BEYOND = "a relative import leads out of the package"
_IN_NONE = "a relative import in a program that no package can have as a module, for the dot in its name"
#: what each module has
_OF_MODULES = ("__name__", "__file__", "__doc__", "__path__")


class FailingImport(NamedTuple):
    """A statement that ends in an error, or a line for which a file cannot be imported, and why."""

    path: str
    line: int
    said: str


class FailingImports:
    """The imports among some files that fail, each file parsed once."""

    def __init__(
        self,
        texts: Mapping[str, bytes],
        holds: Callable[[str, str], bool],
        lies_around: Callable[[str], bool],
        is_told: Callable[[str], bool],
    ) -> None:
        """
        Args:
            texts: What the files contain, by their paths.
            holds: Whether a folder has anything of a name, whatever its ending: a compiled module, too.
            lies_around: Whether the repository has anything of a name beside these files.
            is_told: Whether a text of the repository names a module, which may be one to install then.
        """
        self._lies_around = lies_around
        self._is_told = is_told
        self._texts = texts
        self._holds = holds
        self._trees: dict[str, ast.Module | source.Unreadable] = {}
        self._bound: dict[str, frozenset[str]] = {}
        self._homes: dict[str, list[str]] = {}
        self._stars: dict[str, list[str]] = {}
        self._hiding: dict[str, bool] = {}

    def first(self, path: str) -> FailingImport | None:
        """An import that fails when a file is run or imported, its own or one of what it imports."""
        # a program sees what is beside it, unless it is run as a module of its package
        folder = posixpath.dirname(path)
        is_program = b"__main__" in self._texts.get(path, b"")
        root = folder if is_program and not self._is_package(folder) else ""
        reached, left = {path}, [path]
        while left and left[0] in self._texts:
            file = left.pop(0)
            tree = self._tree(file)
            if isinstance(tree, source.Unreadable):
                return _unparsed(file, self._texts[file], tree)
            for statement in tree.body:
                for asked in _imports(statement, file):
                    if asked.folder and file == path and is_program and _is_no_module(path):
                        return asked.failing(_IN_NONE)
                    found = self._found(asked, root)
                    if isinstance(found, FailingImport):
                        return found
                    left += [one for one in found if one not in reached]
                    reached.update(found)
        return None

    def _found(self, asked: _Import, root: str) -> FailingImport | list[str]:
        """The files that an import runs, as far as is sure which, or how it fails."""
        if asked.folder:
            # a program's own folder is no package, and what lies in it is imported by its own name
            if root and asked.path.startswith(f"{root}/") and f"{root}/".startswith(f"{asked.folder}/"):
                return [] if posixpath.dirname(asked.path) == root else asked.failing(_BEYOND)
            home = next(filter(self._is_package, _above(asked.folder)), "")
            inside = posixpath.join(asked.folder, *asked.parts)
            rest = inside[len(home) + 1 :].split("/") if inside != home else []
        else:
            home, rest = self._home(asked, root), list(asked.parts[1:])
        return self._through(asked, home, rest) if home else self._nowhere(asked) or []

    def _nowhere(self, asked: _Import) -> FailingImport | None:
        """How an import of a name that only a project's own modules have fails, whichever of those it means."""
        head, *rest = asked.parts
        if not self._is_local(head) or self._lies_around(head):
            return None
        homes = self._all_homes(head)
        failing = [found for home in homes if isinstance(found := self._through(asked, home, rest), FailingImport)]
        if len(failing) < len(homes):
            return None
        return failing[0] if failing else asked.failing(f"the repository has no {head}")

    def _is_local(self, name: str) -> bool:
        """Whether only a project has a module of a name: `utils`, or, of which no text tells, `models_mae`, and
        `vits_bak` where it has a `vits`."""
        words = name.split("_")
        own, _, ending = name.rpartition("_")
        local = not LOCAL_NAMES.isdisjoint((words[0], words[-1])) or (ending in SET_ASIDE and self._all_homes(own))
        return name in LOCAL_NAMES or (bool(local) and not self._is_told(name))

    def _home(self, asked: _Import, root: str) -> str:
        """The folder of a package, or the path of a module without its ending, that the first part of an absolute
        import surely means; "" if that cannot be told."""
        head = asked.parts[0]
        if head in LIBRARIES.values():
            return ""
        around = (folder for folder in _above(posixpath.dirname(asked.path)) if posixpath.basename(folder) == head)
        inside = (folder for folder in around if not self._is_package(posixpath.dirname(folder)))
        sure = next((one for one in ((f"{root}/{head}" if root else ""), *inside) if self._file(one)), "")
        if not sure and root and len(self._all_homes(head)) == 1:
            # a program that puts the project's folder into the path of modules: the only package of the name
            sure = next(filter(self._is_outermost, self._all_homes(head)), "")
        if not sure and root and self._is_namespace(f"{root}/{head}"):
            sure = f"{root}/{head}"
        # another of the name may come first in the path of modules, by an option or a variable
        others = (one for one in self._all_homes(head) if one != sure)
        return "" if any(self._holds(*posixpath.split("/".join((one, *asked.parts[1:])))) for one in others) else sure

    def _is_outermost(self, folder: str) -> bool:
        """Whether a folder is a package that is in no other one."""
        return self._is_package(folder) and not self._is_package(posixpath.dirname(folder))

    def _all_homes(self, head: str) -> list[str]:
        """All that the files have under a name, at whatever depth."""
        if head not in self._homes:
            around = (folder for path in self._texts for folder in _above(path.removesuffix(".py")))
            self._homes[head] = sorted({folder for folder in around if posixpath.basename(folder) == head})
        return self._homes[head]

    def _through(self, asked: _Import, home: str, rest: Sequence[str]) -> FailingImport | list[str]:
        """On from a package to the module that is meant, through all whose statements run on the way."""
        place, run = home, [self._file(home)]
        for name in rest:
            if not self._is_namespace(place) and (not self._is_package(place) or self._may_hide(run[-1])):
                return list(filter(None, run))
            if not self._holds(place, name):
                if self._is_built(name):
                    return list(filter(None, run))
                return asked.failing(f"{posixpath.basename(place)} has no module {name}")
            place = f"{place}/{name}"
            run.append(self._file(place))
        module = run[-1]
        for name in asked.names if module and not self._may_hide(module) else ():
            if self._binds(module, name):
                continue
            if self._is_package(place) and self._holds(place, name):
                run.append(self._file(f"{place}/{name}"))
            elif not (self._is_package(place) and self._is_built(name)):
                return asked.failing(f"{posixpath.basename(place)} has no {name}")
        return list(filter(None, run))

    def _is_built(self, name: str) -> bool:
        """Whether a module may be compiled or generated: its name says so, or what builds the project names it."""
        return _BUILT.search(name) is not None or any(
            re.search(rf"\b{name}\b".encode(), text) for text in self._builders
        )

    @cached_property
    def _builders(self) -> list[bytes]:
        return [text for path, text in self._texts.items() if posixpath.basename(path) == "setup.py"]

    def _binds(self, file: str, name: str) -> bool:
        return any(name in self._names(one) for one in self._starred(file))

    def _names(self, file: str) -> frozenset[str]:
        if file not in self._bound:
            tree = self._tree(file)
            self._bound[file] = _bound(tree) if isinstance(tree, ast.Module) else frozenset()
        return self._bound[file]

    def _may_hide(self, file: str) -> bool:
        """Whether a module may have names that are not to be seen: its own, or of what it imports all names of."""
        if file not in self._hiding:
            texts = (self._texts.get(one) for one in self._starred(file))
            self._hiding[file] = any(text is None or _HIDDEN.search(text) is not None for text in texts)
        return self._hiding[file]

    def _starred(self, file: str) -> list[str]:
        """A file, and those of which it imports all names, with those of which these do; "" for one that cannot be
        told."""
        if file not in self._stars:
            found, left = {file: None}, [file] if file else []
            while left:
                importing = left.pop()
                tree = self._tree(importing)
                for asked in _all_names(tree, importing) if isinstance(tree, ast.Module) else ():
                    module = self._file(posixpath.join(asked.folder, *asked.parts)) if asked.folder else ""
                    left += [module] if module and module not in found else []
                    found[module] = None
            self._stars[file] = [*found]
        return self._stars[file]

    def _is_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py" in self._texts

    def _is_namespace(self, folder: str) -> bool:
        """Whether a folder has modules, at whatever depth, and no file that makes it a package: another one of the name
        would come first, but for that there has to be one."""
        return folder in self._folders and not self._holds(folder, "__init__")

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(folder for path in self._texts for folder in _above(posixpath.dirname(path)))

    def _file(self, place: str) -> str:
        """The file of a package or module, "" if it has none that is Python."""
        return next((file for file in (f"{place}/__init__.py", f"{place}.py") if file in self._texts), "")

    def _tree(self, path: str) -> ast.Module | source.Unreadable:
        if path not in self._trees:
            decoded = source.decode(self._texts[path])
            self._trees[path] = source.parse(decoded.text) if isinstance(decoded, source.DecodedSource) else decoded
        return self._trees[path]


class _Import(NamedTuple):
    """One import of a statement."""

    path: str
    line: int
    #: where a relative one begins, "" of an absolute one
    folder: str
    parts: tuple[str, ...]
    names: tuple[str, ...] = ()

    def failing(self, said: str) -> FailingImport:
        return FailingImport(self.path, self.line, said)


def _imports(statement: ast.stmt, path: str) -> Iterator[_Import]:
    """The modules that a statement imports."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            yield _Import(path, statement.lineno, "", tuple(alias.name.split(".")))
    elif isinstance(statement, ast.ImportFrom):
        folder = posixpath.dirname(path) if statement.level else ""
        for _ in range(statement.level - 1):
            folder = posixpath.dirname(folder)
        parts = tuple(statement.module.split(".")) if statement.module else ()
        names = tuple(alias.name for alias in statement.names if alias.name != "*")
        yield _Import(path, statement.lineno, folder, parts, names)


def _all_names(tree: ast.Module, path: str) -> Iterator[_Import]:
    """The modules of which a file imports all names, at whatever depth."""
    for node in walk(tree):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield from _imports(node, path)


def _is_no_module(path: str) -> bool:
    """Whether a file can only be run by its path: `train.old.py` would be a module `old` of a package `train`."""
    return "." in posixpath.basename(path).removesuffix(".py")


def _above(folder: str) -> Iterator[str]:
    """A folder and those around it, the nearest first."""
    while folder not in ("/", ""):
        yield folder
        folder = posixpath.dirname(folder)


def _unparsed(path: str, raw: bytes, why: source.Unreadable) -> FailingImport | None:
    """What no newer Python would parse either."""
    name = posixpath.basename(path)
    if (conflict := _CONFLICT.search(raw)) is not None:
        line = raw.count(b"\n", 0, conflict.start()) + 1
        return FailingImport(path, line, f"{name} holds a merge that was not decided")
    return FailingImport(path, why.line, f"{name} is written for Python 2") if _PRINTED in why.message else None


def _bound(tree: ast.Module) -> frozenset[str]:
    """The names that something in a file sets, at whatever depth."""
    names: set[str] = set(_OF_MODULES)
    for node in walk(tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Global):
            names.update(node.names)
    return frozenset(names)
