"""Whether a program may start its ranks itself: it, what it imports, or what uses it. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property

from ddpdoctor.lint.deferred import given_options
from ddpdoctor.lint.deferred.imported_files import ImportedFiles
from ddpdoctor.lint.deferred.needed_settings import needed_at
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program import source
from ddpdoctor.program.modules import Module

#: torch's function, unless it is told to start one process
SPAWN = rb"spawn(?!\([^\n]*\bnprocs\s*=\s*1\s*[,)])"
#: a program, or something that it uses, may start the ranks itself
_STARTS = late_pattern(
    SPAWN + rb"|start_processes|elastic_launch|submitit|lightning|(?<!psutil\.)\bProcess\(|notebook_launcher"
    rb"|horovod\.(?:run|spark|ray)|\bray\b|\bmpi(?:run|exec)|\bSpawn\(|hydra[./_-]launcher"
)
#: a program starts a launcher of which it gives the name
_STARTS_LAUNCHER = late_pattern(rb"[\"']torch\.distributed\.(?:launch|run)[\"']")
_COMMENT = late_pattern(rb"^\s*#.*")
#: what a line imports, a program that is named, and the words of both
_IMPORTED = late_pattern(rb"^[ \t]*(?:from|import)\b([^\n]*)", re.MULTILINE)
_PROGRAM = late_pattern(rb"\b(\w+)\.py\b")
_WORD = late_pattern(rb"\w+")


def starts(text: bytes) -> bool:
    """Whether something in a file may start ranks."""
    return next(_places(text), None) is not None


def starts_launcher(text: bytes) -> bool:
    """Whether a file names a launcher that it may start."""
    return _STARTS_LAUNCHER.search(text) is not None


def _places(text: bytes) -> Iterator[int]:
    """The lines of a file that may start ranks."""
    if _STARTS.search(text):
        lines = enumerate(text.splitlines(), 1)
        yield from (number for number, line in lines if _STARTS.search(_COMMENT.sub(b"", line)))


class RankStarters:
    """Who starts ranks among the files of a project, each file parsed once."""

    def __init__(
        self,
        texts: Mapping[str, bytes],
        imports: ImportedFiles,
        commands: Callable[[str], Sequence[bytes]],
        naming: Set[str] = frozenset(),
    ) -> None:
        """`texts`: what the files contain, by their paths; `imports`: of these; `commands`: those that start a
        program; `naming`: files with commands that name the programs which they start."""
        self._texts = texts
        self._commands = commands
        self._naming = naming
        self._imports = imports
        self._known: dict[str, bool] = {}

    def may_start(self, path: str, *, program: bool) -> bool:
        """Whether a program, what it imports, or what uses it, may start ranks; of a file that no command starts,
        whether any file may."""
        if not self._starting:
            return False
        if path not in self._known:
            reached = self._imports.of(path) if program else None
            files = self._texts if reached is None else sorted(reached | self.users_of(path))
            self._known[path] = self._start(path, [self._texts[file] for file in files if file in self._starting])
        return self._known[path]

    @cached_property
    def _starting(self) -> frozenset[str]:
        """The files that may start ranks."""
        return frozenset(
            file
            for file, text in self._texts.items()
            if starts(text) or (file not in self._naming and starts_launcher(text))
        )

    def users_of(self, path: str) -> set[str]:
        """The files that import a file or start it by its name, and those that use these, as far as words tell."""
        users: set[str] = set()
        left = [path]
        while left:
            more = self._that_name(_stem(left.pop()).encode(errors="surrogateescape")) - users
            users |= more
            left += more - {path}
        return users

    def _that_name(self, name: bytes) -> Set[str]:
        """The files that import something of a name, or name a program so."""
        if name not in self._by_name and _WORD.fullmatch(name) is None:
            word = re.escape(name)
            named = re.compile(rb"^[ \t]*(?:from|import)\b[^\n]*\b" + word + rb"\b|\b" + word + rb"\.py\b", re.M)
            texts = ((file, text) for file, text in self._texts.items() if name in text)
            self._by_name[name] = {file for file, text in texts if named.search(text)}
        return self._by_name.get(name, frozenset())

    @cached_property
    def _by_name(self) -> dict[bytes, set[str]]:
        """The same by each name that is one word: a project asks for most of the names that it has, and to search all
        files for each takes a time that grows with the square of its size."""
        found: dict[bytes, set[str]] = {}
        for file, text in self._texts.items():
            imported = (word for line in _IMPORTED.findall(text) for word in _WORD.findall(line))
            for name in {*imported, *_PROGRAM.findall(text)}:
                found.setdefault(name, set()).add(file)
        return found

    def only_by_option(self, path: str) -> bool:
        """Whether a program starts ranks itself, and only with an option that is off and that no command passes."""
        text = self._texts.get(path, b"")
        module, commands, places = given_options.module_of(text), self._commands(path), [*_places(text)]
        return module is not None and bool(places) and all(_is_off(module, commands, text, line) for line in places)

    def _start(self, path: str, found: Sequence[bytes]) -> bool:
        """Whether one of the files, which start ranks, does so not only with an option of the program that is off and
        that no command passes."""
        commands = self._commands(path) if found else ()
        module = given_options.module_of(self._texts.get(path, b"")) if commands else None
        if module is None:
            return bool(found)
        return any(map(starts_launcher, found)) or any(
            not _is_off(module, commands, text, line) for text in found for line in _places(text)
        )


def _stem(path: str) -> str:
    """The name by which others import a file: of a package, that of its folder."""
    folder, name = posixpath.split(path)
    return posixpath.basename(folder) if name == "__init__.py" else name.removesuffix(".py")


def _is_off(program: Module, commands: Sequence[bytes], text: bytes, line: int) -> bool:
    """Whether a line runs only with an option of a program that is off by default and that none of the commands gives
    it."""
    tree = source.tree_of(text)
    options = given_options.given_in(program)
    needed = needed_at(tree, line, given_options.options_as_settings(options)) if tree is not None else ()
    names = (frozenset(name for option in options[one.name] for name in option.names) for one in needed)
    return not any(map(given_options.hands_on_a_file, commands)) and any(
        not any(given_options.gives(command, one) for command in commands) for one in names
    )
