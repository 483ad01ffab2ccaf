"""The files of a linted one's project and repository, which can tell more of it. Impure: reads files."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from functools import cached_property

from ddpdoctor.lint.deferred import asked_values, notebook_commands, program_commands, same_case
from ddpdoctor.lint.deferred.callers import STARTS, Callers
from ddpdoctor.lint.deferred.configurations import Configurations
from ddpdoctor.lint.deferred.failing_imports import FailingImport, FailingImports
from ddpdoctor.lint.deferred.imported_files import ImportedFiles
from ddpdoctor.lint.deferred.launches import COMMANDS, Launches, place_of
from ddpdoctor.lint.deferred.meetings import Meetings
from ddpdoctor.lint.deferred.process_numbers import ProcessNumbers
from ddpdoctor.lint.deferred.project_folder import IS_PROGRAM, root_of
from ddpdoctor.lint.deferred.rank_starters import RankStarters
from ddpdoctor.lint.deferred.uses import Uses
from ddpdoctor.lint.files import is_file, listed, names_in, read_file
from ddpdoctor.lint.grounds import Listing
from ddpdoctor.lint.knowledge import heuristics, packages
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.record import record
from ddpdoctor.program import source

#: most files of a project: beyond that, not all of them can be searched
MOST = 300
#: the same for files that are only searched for the name of a function
MOST_CALLERS = 1_500
#: ends of the names of all files in which people write how their programs are started and what they need; and the most
#: of them that are read
SCRIPTS = (
    *COMMANDS,
    *(".md", ".rst", ".txt"),
    "pyproject.toml",
    *("setup.cfg", "Makefile", "Dockerfile"),
)
MOST_SCRIPTS = 500
#: ends of the names of texts for people
TEXTS = (".md", ".rst")
#: bytes of one of them at most: what is larger is data
LARGEST_SCRIPT = 500_000
#: files that describe an environment: `environment_pt14.yml`, or what conda reads
_ENVIRONMENT = late_pattern(r"(?:^|/)[^/]*(?:env|conda)[^/]*\.ya?ml$")
_OF_CONDA = late_pattern(rb"^dependencies:[ \t]*\r?\n[ \t]*-", re.MULTILINE)
#: ends of the names of files that may hold settings
SETTINGS = (".yaml", ".yml", ".json", ".toml")
#: what writes weights to a file, by itself or for a framework
_SAVES = late_pattern(
    rb"^(?![ \t]*#)[^\n#]*?(?:(?<!\w)save(?:_checkpoint|_pretrained|_file|_model|_state|_weights)?\s*\("
    rb"|Saver\b|Checkpoint|import[^\n]*\bTrainer\b|(?:pickle|joblib)\.dump\()",
    re.MULTILINE,
)
#: files that say how a library is built, and the name that it has there
_BUILT_BY = ("pyproject.toml", "setup.cfg", "setup.py")
_NAME = late_pattern(rb"^\s*(?:setup\()?name\s*=\s*[\"']?([\w-]+)", re.MULTILINE)
_LISTS_PACKAGES = late_pattern(rb"\bpackages\s*=\s*[\[(]\s*[\"']")
#: a program may call a function by a name that nothing shows
_LOOKS_UP = late_pattern(rb"globals\(\)|locals\(\)|sys\.modules|\bFire\(|(?<![.\w])eval\(|getattr\(__import__")
#: lines that name a function and do not call it
_NO_USES = late_pattern(rb"^[ \t]*(?:from\b|import\b|#)[^\n]*", re.MULTILINE)
#: folders of files that no training run uses
_APART = frozenset({"test", "tests", "doc", "docs"})


@record(eq=False)
class Repository:
    """The files of one project and of the repository that it is in, read once."""

    #: the folder of the project
    top: str

    @cached_property
    def texts(self) -> dict[str, bytes] | None:
        """The project's files by path; None if there are too many."""
        paths = _programs(self.top)
        read = {path: raw for path in paths if (raw := read_file(path)) is not None}
        return read if len(paths) <= MOST_CALLERS and len(read) == len(paths) else None

    @property
    def all_texts(self) -> Iterable[bytes] | None:
        """The contents of all the project's files, if they are few enough to be searched in full."""
        return self.texts.values() if self.texts is not None and len(self.texts) <= MOST else None

    @cached_property
    def callers(self) -> Callers:
        """Who calls what in the project."""
        return Callers(self._in_use)

    @cached_property
    def meetings(self) -> Meetings:
        """What in the project enters collectives."""
        return Meetings(self._in_use)

    @cached_property
    def _in_use(self) -> dict[str, bytes]:
        """The project's files without its tests and documentation."""
        texts = self.texts or {}
        return {path: text for path, text in texts.items() if not _is_apart(path[len(self.top) :])}

    @cached_property
    def _uses(self) -> Uses:
        return Uses(self._in_use, self.is_used_elsewhere, self._may_be_started)

    def _may_be_started(self, path: str) -> bool:
        """Whether a file may be started as a program; not one that no command starts, and that one imports which
        commands start."""
        users = self.users_of(path) if not self.launches.commands(path) and self.leaves_out(path) else None
        return users is None or not any(place_of(self.launches.shown, user) is not None for user in users - {path})

    def leaves_out(self, path: str) -> bool:
        """Whether it is a program that no command starts, as far as they are known, while they start others, and no
        file of settings names it."""
        launches, name = self.launches, os.fsencode(posixpath.basename(path))
        if any(name in settings for settings in self.configurations.files.values()):
            return False
        if not (launches.launched or launches.as_one) or launches.start_in(path) or launches.start_unnamed:
            return False
        return b"__main__" in (read_file(path) or b"") and not self.configurations.describe_a_job

    def may_start_ranks(self, path: str, *, program: bool) -> bool:
        """Whether a program, what it imports, or what uses it, may start ranks itself; of a file that no command
        starts, whether any file may. So it may where there are too many files to read."""
        return self.texts is None or self._starters.may_start(path, program=program)

    def start_by_option(self, path: str) -> bool:
        """Whether a program starts ranks itself only with an option that is off, and that no command passes: one that a
        command starts, or that none does while they start others."""
        known = bool(self.launches.commands(path)) or self.leaves_out(path)
        return known and self._starters.only_by_option(path)

    def users_of(self, path: str) -> set[str] | None:
        """The files that import a file or start it by its name, and those that use these, itself included; None if that
        cannot be told: there are too many files, or a text or a file of settings names it, too."""
        if path not in self._users:
            self._users[path] = self._find_users_of(path)
        return self._users[path]

    @cached_property
    def _users(self) -> dict[str, set[str] | None]:
        """What is known of `users_of`, which several questions about one finding ask."""
        return {}

    def _find_users_of(self, path: str) -> set[str] | None:
        stem = re.escape(os.fsencode(posixpath.basename(path).removesuffix(".py")))
        named = re.compile(rb"[./]" + stem + rb"\b(?!\.py\b)|\b" + stem + rb"\.[A-Za-z_]\w*(?<!\.py)\b")
        if self.texts is None or any(map(named.search, self.configurations.files.values())):
            return None
        return {path, *self._starters.users_of(path)}

    @cached_property
    def _starters(self) -> RankStarters:
        return RankStarters(self._own_texts, self._imports, self.launches.commands, self.launches.naming)

    @cached_property
    def _own_texts(self) -> dict[str, bytes]:
        """The project's files without copies of libraries that its programs import and that start no ranks."""
        return {path: text for path, text in (self.texts or {}).items() if not self._starts_no_ranks(path)}

    def _starts_no_ranks(self, path: str) -> bool:
        """Whether a file is in a copy of a library that starts no ranks, which the project's programs import."""
        folders = path[len(self.top) + 1 :].split("/")[:-1]
        return not packages.START_NO_RANKS.isdisjoint(folders)

    @cached_property
    def _imports(self) -> ImportedFiles:
        return ImportedFiles(self._own_texts)

    def used_by(self, path: str) -> dict[str, bytes] | None:
        """What a program and the files that it imports contain, by their paths; None if that cannot be told."""
        files = self._imports.of(path)
        return {file: (self.texts or {})[file] for file in sorted(files)} if files is not None else None

    def failing_import(self, path: str) -> FailingImport | None:
        """An import of the project's own modules that fails when a file is run, None if none surely does."""
        return self._failing_imports.first(path)

    @cached_property
    def _failing_imports(self) -> FailingImports:
        return FailingImports(self.texts or {}, _holds, self._lies_around, self._is_told)

    def _is_told(self, name: str) -> bool:
        """Whether a text, script or file of settings names a module, or what has to be installed for it."""
        word = re.compile(rb"\b" + name.replace("_", "[-_]").encode() + rb"\b")
        return any(map(word.search, (*self.launches.scripts.values(), *self.configurations.files.values())))

    def _lies_around(self, name: str) -> bool:
        """Whether something in the repository has a name, outside of the project's folder or of what is searched; so it
        may where there is no repository, or one that holds others."""
        if not self.root or is_file(f"{self.root}/.gitmodules"):
            return True
        named = listed(Listing(self.root, (f"{name}.py",), MOST_CALLERS))
        paths = (path for path in (*_programs(self.root), *named) if not path.startswith(f"{self.top}/"))
        around = (path[len(self.root) + 1 :].removesuffix(".py").split("/") for path in paths)
        return _holds(self.root, name) or any(name in parts for parts in around)

    def uses(self, program: str, path: str) -> bool:
        """Whether a program imports a file, directly or not."""
        return path in (self._imports.of(program) or ())

    def calls(self, program: str, path: str, line: int) -> bool:
        """Whether a program imports a file, directly or not, and it or what it imports calls the function around a line
        of that; one that calls the file's code outside of functions imports it."""
        if not self.uses(program, path):
            return False
        name = self.callers.function_around(path, line).encode()
        if not name:
            return True
        held = self.texts or {}
        guarded = IS_PROGRAM.search(held[path]) if program != path else None
        inside = held[path][: guarded.start()] if guarded is not None else held[path]
        others = (held[file] for file in self._imports.of(program) or () if file != path)
        # a file that defines a function of this name calls its own
        own = re.compile(rb"^def " + re.escape(name) + rb"\(", re.MULTILINE)
        texts = (inside, *(text for text in others if own.search(text) is None))
        return any(_names(_NO_USES.sub(b"", text), name) for text in texts)

    @cached_property
    def launches_any(self) -> bool:
        """Whether a text starts by a launcher what the repository does not have in any folder: the reader's own
        program, for which its examples stand."""
        held = {posixpath.basename(path) for path in _programs(self.root or self.top)}
        told = (program for program, at in self.launches.by_launcher.items() if at.file.endswith(TEXTS))
        return any(posixpath.basename(program) not in held for program in told)

    def is_only(self, path: str) -> bool:
        """Whether no other file of the repository has the name of this one."""
        files = _programs(self.root or self.top)
        return sum(posixpath.basename(file) == posixpath.basename(path) for file in files) <= 1

    @cached_property
    def launches(self) -> Launches:
        """How the scripts and texts of the whole repository start its programs."""
        notebooks = self._read((".ipynb",), largest=source.LARGEST)
        held = {path: notebook_commands.script_of(path, raw) for path, raw in notebooks.items()}
        programs = ((path, raw) for path, raw in (self.texts or {}).items() if path.endswith(".py"))
        held.update((path, script) for path, raw in programs if (script := program_commands.script_of(path, raw)))
        settings = self._settings.items()
        described = {path: raw for path, raw in settings if _ENVIRONMENT.search(path) or _OF_CONDA.search(raw)}
        scripts = {**self._read(SCRIPTS), **described, **{path: script.text for path, script in held.items()}}
        places = {path: script.places for path, script in held.items()}
        return Launches(scripts, self.root, places, ProcessNumbers(self.texts or {}), self._read(("setup.py",)))

    @cached_property
    def configurations(self) -> Configurations:
        """What the files of the whole repository configure, and the programs of the project."""
        return Configurations(self._settings, self.texts, self.launches.scripts)

    @cached_property
    def _settings(self) -> dict[str, bytes]:
        """The files of the whole repository that may hold settings."""
        return self._read(SETTINGS)

    @cached_property
    def saves_nothing(self) -> bool:
        """Whether no program of the whole repository, which is at hand and can be read, saves weights."""
        paths = _programs(self.root) if self.root else []
        read = map(read_file, paths)
        return 0 < len(paths) <= MOST_CALLERS and not any(raw is None or _SAVES.search(raw) for raw in read)

    @cached_property
    def saves_nothing_here(self) -> bool:
        """The same of the project's own folder: what trains there would save there what it goes on from."""
        texts = (self.texts or {}).values() if self.root else ()
        return bool(texts) and not any(map(_SAVES.search, texts))

    def is_unused(self, path: str, line: int) -> bool:
        """Whether the function around a line is named nowhere else in the project, which has programs to name it."""
        texts = self.all_texts
        if texts is None or not any(b"__main__" in text for text in texts):
            return False
        name = self.callers.function_around(path, line)
        return bool(name) and not any(_names(text, name.encode()) for text in (*texts, *self.launches.scripts.values()))

    def unused_at(self, path: str, line: int) -> str:
        """The name of the function, class or method around a line that at most tests use, in a project that has
        programs; "" if something uses it, or may."""
        return self._uses.unused_at(path, line) if self.has_programs else ""

    @cached_property
    def has_programs(self) -> bool:
        """Whether some of the project's own files are started as programs."""
        return any(b"__main__" in text for text in (self.texts or {}).values())

    def is_used_elsewhere(self, path: str, name: str) -> bool:
        """Whether something beside the project's own files may use a function or class of a file: a text of the
        repository, or a file of settings, names it, or what is not in sight calls it by a name that all know. What a
        program defines, others use with its name: `train:main`."""
        text = (self.texts or {}).get(path, b"")
        stem = ""
        if IS_PROGRAM.search(text) is not None and _LOOKS_UP.search(text) is None:
            stem = posixpath.basename(path).removesuffix(".py")
        if (stem, name) not in self._known_names:
            owner, plain = re.escape(stem.encode()), re.escape(name.encode())
            word = re.compile(rb"\b" + (owner + rb"[.:]" if stem else b"") + plain + rb"\b")
            said = (*self.launches.scripts.values(), *self.configurations.files.values())
            known = (name in STARTS and not stem) or any(map(word.search, said))
            around = re.compile(rb"\b" + (owner or plain) + rb"\b")
            self._known_names[stem, name] = known or self._is_named_around(around, b"" if stem else plain)
        return self._known_names[stem, name]

    @cached_property
    def _known_names(self) -> dict[tuple[str, str], bool]:
        """What is known of `is_used_elsewhere`, which each user of a user asks."""
        return {}

    def sets(self, setting: str) -> bool:
        """Whether a command of the repository gives an option of this name, or a file of settings has it."""
        given = re.compile(rb"--" + re.sub(rb"[-_]", b"[-_]", setting.encode()) + rb"\b")
        key = re.compile(rb"^[ \t]*[\"']?" + re.escape(setting.encode()) + rb"[\"']?[ \t]*[:=]", re.MULTILINE)
        said, files = self.launches.scripts.values(), self.configurations.files.values()
        return any(map(given.search, said)) or any(map(key.search, files))

    def lacks_option(self, name: str) -> bool:
        """Whether nothing in the repository has a name, but as an attribute that is read."""
        said = (*self.launches.scripts.values(), *self.configurations.files.values())
        held = self.texts
        return held is not None and all(same_case.is_only_read(name, text) for text in (*held.values(), *said))

    def sets_number(self, setting: str, commands: Iterable[bytes], program: bytes) -> bool:
        """Whether the commands of a program give it a number as an option that it has, or a file of settings does if it
        has no such option."""
        name = setting.encode()
        option = re.compile(rb"--(?:\w+[-_])?" + name + rb"\b")
        if option.search(program):
            return any(re.search(option.pattern + rb"[= ]+[\d$]", command) for command in commands)
        key = re.compile(rb"^[ \t]*[\"']?(?:\w+_)?" + name + rb"[\"']?[ \t]*[:=][ \t]*\d", re.MULTILINE | re.IGNORECASE)
        return any(map(key.search, self.configurations.files.values()))

    def mentions(self, name: str) -> bool:
        """Whether a text, script or file of settings of the repository has a name, or a program other than to compare
        something with it; so it may where there are too many files."""
        word = asked_values.word_of(name)
        said = (*self.launches.scripts.values(), *self.configurations.files.values())
        paths = _programs(self.root or self.top)
        if len(paths) > MOST_CALLERS or any(map(word.search, said)):
            return True
        return any(raw is None or asked_values.mentions(raw, name) for raw in map(read_file, paths))

    def copied_library(self, path: str) -> str:
        """The folder of a known library of which the repository holds a copy, if the file is in what goes with it: its
        tests, examples and tools; "" otherwise."""
        folder = posixpath.dirname(path)
        while self.root and folder.startswith(f"{self.root}/"):
            texts = (read_file(f"{folder}/{name}") or b"" for name in _BUILT_BY)
            named = (found.decode().replace("-", "_") for text in texts for found in _NAME.findall(text))
            library = next(filter(None, map(packages.LIBRARIES.get, named)), "")
            if library:
                return "" if library in path[len(folder) + 1 :].split("/")[:2] else folder
            folder = posixpath.dirname(folder)
        return ""

    def is_built(self, path: str) -> bool:
        """Whether a file may be of a package that the repository is built into, and that others import then: what
        builds it looks for the packages itself, or names this one."""
        said = {**self.launches.setups, **self.launches.scripts}
        builders = {file: text for file, text in said.items() if posixpath.basename(file) in _BUILT_BY}
        folders = map(os.fsencode, posixpath.dirname(path)[len(self.root or self.top) + 1 :].split("/"))
        named = re.compile(rb"\b(?:" + rb"|".join(map(re.escape, folders)) + rb")\b")
        return any(_builds_all(file, text) or named.search(text) for file, text in builders.items())

    def is_test(self, path: str) -> bool:
        """Whether a file is a test, by its path in the repository."""
        return heuristics.OF_TESTS.found_in(path[len(self.root or self.top) :])

    def _is_named_around(self, word: re.Pattern[bytes], name: bytes) -> bool:
        """Whether a program of the repository outside of the project's folder names something, other than what it has
        itself, or cannot be read; `name`: of a function or class."""
        paths = _programs(self.root) if self.root else []
        around = [p for p in paths if not p.startswith(f"{self.top}/") and not _is_apart(p[len(self.root) :])]
        read = ((path, read_file(path)) for path in around)
        named = ((path, raw) for path, raw in read if raw is None or word.search(raw))
        return len(paths) > MOST_CALLERS or any(raw is None or not _has_its_own(path, raw, name) for path, raw in named)

    @cached_property
    def root(self) -> str:
        """The folder of the repository that the project is in, "" if there is none."""
        return root_of(self.top)

    def _read(self, endings: tuple[str, ...], largest: int = LARGEST_SCRIPT) -> dict[str, bytes]:
        """The repository's files with these endings by path, those of a size that people write."""
        found = listed(Listing(self.root, endings, MOST_SCRIPTS)) if self.root else ()
        read = ((path, read_file(path)) for path in found)
        return {path: raw for path, raw in read if raw is not None and len(raw) <= largest}


def _builds_all(file: str, text: bytes) -> bool:
    """Whether a file that may build a library does, and does not list the packages that this has."""
    builds = file.endswith("setup.py") or any(part in text for part in (b"[project]", b"[tool.poetry]", b"[options]"))
    return builds and _LISTS_PACKAGES.search(text) is None


def _has_its_own(path: str, raw: bytes, name: bytes) -> bool:
    """Whether a program defines a function or class itself, or imports it from a file beside it."""
    if not name:
        return False
    if re.search(rb"^(?:async def|def|class)[ \t]+" + name + rb"\b", raw, re.MULTILINE):
        return True
    found = re.findall(rb"^[ \t]*from[ \t]+(\w[\w.]*)[ \t]+import\b[^\n#]*\b" + name + rb"\b", raw, re.MULTILINE)
    return bool(found) and all(_lies_beside(path, module.decode()) for module in found)


def _lies_beside(path: str, module: str) -> bool:
    return any(is_file(f"{posixpath.dirname(path)}/{module.replace('.', '/')}{end}") for end in (".py", "/__init__.py"))


def _names(text: bytes, name: bytes) -> bool:
    """Whether a text names a function other than where it is defined, and not that of a module it imports."""
    for found in re.finditer(rb"(?:\bdef\s+|\b(\w+)\.)?\b" + re.escape(name) + rb"\b", text):
        owner = found.group(1)
        if owner is None and found.group().startswith(b"def"):
            continue
        if owner is None or not re.search(rb"\b(?:import|as)\s+" + re.escape(owner) + rb"\b", text):
            return True
    return False


def _holds(folder: str, name: str) -> bool:
    """Whether a folder has anything of a name, whatever its ending."""
    return any(entry.partition(".")[0] == name for entry in names_in(folder))


def _is_apart(path: str) -> bool:
    return not _APART.isdisjoint(posixpath.dirname(path).split("/"))


def _programs(top: str) -> list[str]:
    """The programs and notebooks below a folder: one more than can be searched, if there are as many."""
    return listed(Listing(top, (".py", ".ipynb"), MOST_CALLERS + 1))
