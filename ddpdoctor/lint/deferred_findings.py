"""Deferred findings: those that depend on other files of the project, decided by reading them. Impure: reads files.

A factory creates a sampler and returns it; whether its epoch is set is decided in the files that use the factory. Some
of these cannot be followed: a registry, a name from a configuration, a script that is not linted. If no file of the
project even mentions what would make the code right, the finding is reported. In the same way a hint becomes a warning:
of what "all callers" may do, if the callers are in the project and do not do it.
"""

from __future__ import annotations

import itertools
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from ddpdoctor.lint import launch_scripts
from ddpdoctor.lint.callers import Callers
from ddpdoctor.lint.files import is_file, read_file
from ddpdoctor.lint.imported_files import ImportedFiles
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.knowledge.packages import Does, that
from ddpdoctor.model.finding import Finding, Related, RelatedRole, Severity
from ddpdoctor.model.record import record
from ddpdoctor.program import libraries
from ddpdoctor.program.project import CLIMBED

#: most files of a project: beyond that, not all of them can be searched
MOST = 300
#: the same for files that are only searched for the name of a function
MOST_CALLERS = 1_500
#: something sets a sampler's epoch: the program, or a framework
_TELLS = re.compile(rf"set_epoch|(?:from|import)\s+(?:{'|'.join(that(Does.EPOCHS))})\b".encode())
#: something makes a seed out of another one, perhaps with the rank
_SEEDS_MADE = re.compile(rb"seed[\w.\]\[)\"']*\s*[-+*^]|[-+*^]=?\s*[\w.]*seed|seed\w*\s*=[^=\n]*rank")
#: notes of what only the project's other files can show
_OPEN = frozenset({RelatedRole.UNCONFIRMED, RelatedRole.UNREACHED, RelatedRole.UNSTARTED})
_AROUND = frozenset({*libraries.FOLDERS, "node_modules", "build", "dist"})
#: something makes this program one of several ranks; who asks whether a network is in DDP does not put it there
_SEVERAL = re.compile(
    rb"init_process_group|DistributedDataParallel\(|\bDDP\(|Accelerator\(|init_distributed|mp\.spawn|get_rank\(|deepspeed\.initialize"
)


#: a program may have to do with several ranks
_OF_A_JOB = re.compile(
    rb"rank|distribut|\bddp|deepspeed|accelerat|lightning|Trainer\b|horovod|torchrun|fabric", re.IGNORECASE
)
#: ends of the names of files that are commands alone, and of all in which people write how their programs are started
#: and what they need; and the most of them that are read
_COMMANDS = (".sh", ".slurm", ".sbatch")
_SCRIPTS = (
    *_COMMANDS,
    *(".md", ".rst", ".txt"),
    *("environment.yml", "environment.yaml", "pyproject.toml", "setup.cfg"),
)
MOST_SCRIPTS = 500
#: bytes of one of them at most: what is larger is data
LARGEST_SCRIPT = 500_000


class Confirmation(NamedTuple):
    """What the other files show of a finding."""

    #: what is said of it
    said: str
    severity: Severity = Severity.WARNING
    #: (file, line) that shows it, if it is one place
    at: tuple[str, int] | None = None
    #: what has to hold all the same, as the beginning of the message
    condition: str = ""


@record(eq=False)
class _Project:
    """The files of one project, read once."""

    top: str

    @cached_property
    def texts(self) -> dict[str, bytes] | None:
        """The files' contents by path; None if there are too many."""
        paths = list(itertools.islice(_files(self.top), MOST_CALLERS + 1))
        read = {path: raw for path in paths if (raw := read_file(path)) is not None}
        return read if len(paths) <= MOST_CALLERS and len(read) == len(paths) else None

    @property
    def all_texts(self) -> Iterable[bytes] | None:
        """The contents of all files, if they are few enough to be searched in full."""
        return self.texts.values() if self.texts is not None and len(self.texts) <= MOST else None

    @cached_property
    def zero_stages(self) -> frozenset[bytes]:
        """The stages of DeepSpeed's ZeRO that configurations of the repository name, as files or in its programs."""
        root = _root(self.top)
        files = itertools.islice(_files(root, (".json",)), MOST_SCRIPTS) if root else ()
        texts = [raw for path in files if (raw := read_file(path)) is not None and len(raw) <= LARGEST_SCRIPT]
        texts += [text for text in (self.texts or {}).values() if b"stage" in text]
        zero = (text for text in texts if _ZERO in text)
        return frozenset(stage for text in zero for stage in _STAGE.findall(text))

    def may_start_ranks(self, path: str, *, program: bool) -> bool:
        """Whether a program, what it imports, or what uses it, may start ranks itself; of a file that no command
        starts, whether any file may. So it may where there are too many files to read."""
        if self.texts is None:
            return True
        if path not in self._starting:
            reached = self._imports.of(path) if program else None
            files = self.texts if reached is None else sorted(reached | self._users_of(path))
            self._starting[path] = any(self._starts_ranks(path, self.texts[file]) for file in files)
        return self._starting[path]

    def _users_of(self, path: str) -> set[str]:
        """The files that import a file or start it by its name, and those that use these, as far as words tell."""
        users: set[str] = set()
        left = [path]
        while left:
            name = re.escape(posixpath.basename(left.pop()).removesuffix(".py").encode())
            named = re.compile(
                rb"^[ \t]*(?:from|import)\b[^\n]*\b" + name + rb"\b|\b" + name + rb"\.py\b", re.MULTILINE
            )
            more = {file for file, text in (self.texts or {}).items() if file not in users and named.search(text)}
            users |= more
            left += sorted(more - {path})
        return users

    @cached_property
    def _imports(self) -> ImportedFiles:
        return ImportedFiles(self.texts or {})

    @cached_property
    def _starting(self) -> dict[str, bool]:
        """What is known of programs so far: whether they may start ranks."""
        return {}

    def _starts_ranks(self, program: str, text: bytes) -> bool:
        """Whether a file starts ranks, and not only with an option that is off and no command passes."""
        lines = text.splitlines()
        places = [number for number, line in enumerate(lines, 1) if _STARTS_RANKS.search(_COMMENT.sub(b"", line))]
        own = (self.texts or {}).get(program, b"")
        return any(not self._off(program, own, _asked_above(lines, number)) for number in places)

    def _off(self, program: str, text: bytes, options: Iterable[bytes]) -> bool:
        """Whether one of the options is off where nobody gives it, and no command that starts the program does."""
        commands = [command for name, command in self.commands if _is_named(name, program)]
        asked = (option for option in options if commands and _is_off(text, option))
        return any(not any(_passes(command, {option}) for command in commands) for option in asked)

    @cached_property
    def scripts(self) -> dict[str, bytes]:
        """The scripts and texts of the whole repository by path."""
        root = _root(self.top)
        found = itertools.islice(_files(root, _SCRIPTS), MOST_SCRIPTS) if root else ()
        read = ((path, read_file(path)) for path in found)
        return {path: raw for path, raw in read if raw is not None and len(raw) <= LARGEST_SCRIPT}

    @cached_property
    def _for_torch_1(self) -> frozenset[str]:
        """The folders of which a text says that they need torch 1."""
        told = (script for script, text in self.scripts.items() if launch_scripts.is_for_torch_1(text))
        return frozenset(map(_speaks_of, told))

    @cached_property
    def _for_torch(self) -> frozenset[str]:
        """The folders of which a text names a version of torch."""
        told = (script for script, text in self.scripts.items() if launch_scripts.names_torch(text))
        return frozenset(map(_speaks_of, told))

    def is_for_torch_1(self, path: str) -> bool:
        """Whether a text of the folder that a file is in, or of one around that, asks for torch 1; of any folder if
        none of these names a version."""
        if any(path.startswith(f"{folder}/") for folder in self._for_torch):
            return any(path.startswith(f"{folder}/") for folder in self._for_torch_1)
        return bool(self._for_torch_1)

    @cached_property
    def by_old_launcher(self) -> dict[str, tuple[str, int]]:
        """(script, line) that starts it with the old launcher, by program."""
        commands = {script: raw for script, raw in self.scripts.items() if script.endswith(_COMMANDS)}
        return self._started(commands, launch_scripts.started_by_old_launcher)

    @cached_property
    def by_old_launcher_in_texts(self) -> dict[str, tuple[str, int]]:
        """The same of texts in which people write how a program is started."""
        return self._started(self.scripts, launch_scripts.named_by_old_launcher)

    @cached_property
    def launched(self) -> dict[str, tuple[str, int]]:
        """(script or text, line) that starts it with any launcher, by program."""
        return self._started(self.scripts, launch_scripts.started_by_launcher)

    @cached_property
    def commands(self) -> list[tuple[str, bytes]]:
        """(program, command) of every command that starts one, with a launcher or without."""
        root = _root(self.top)
        return [
            (_seen_from(script, name, root), command)
            for script, raw in self.scripts.items()
            for name, command in launch_scripts.starting_commands(raw)
        ]

    @cached_property
    def runs_in_cluster(self) -> bool:
        """Whether a manifest of the repository describes a job of several ranks, which a cluster starts."""
        root = _root(self.top)
        files = itertools.islice(_files(root, (".yaml", ".yml")), MOST_SCRIPTS) if root else ()
        texts = (raw for path in files if (raw := read_file(path)) is not None and len(raw) <= LARGEST_SCRIPT)
        return any(map(_MANIFEST.search, texts))

    @cached_property
    def alone(self) -> dict[str, tuple[str, int]]:
        """(script or text, line) that starts it without a launcher, by program."""
        return self._started(self.scripts, launch_scripts.started_alone)

    @cached_property
    def as_one(self) -> dict[str, tuple[str, int]]:
        """(script or text, line) that starts it as one process, without a launcher or by one, by program."""
        return {**self._started(self.scripts, launch_scripts.started_as_one), **self.alone}

    def _started(
        self, texts: Mapping[str, bytes], find: Callable[[bytes], Iterator[tuple[int, str]]]
    ) -> dict[str, tuple[str, int]]:
        root, started = _root(self.top), dict[str, tuple[str, int]]()
        for script, raw in texts.items():
            for line, name in find(raw):
                started.setdefault(_seen_from(script, name, root), (script, line))
        return started

    @cached_property
    def callers(self) -> Callers:
        texts = self.texts or {}
        return Callers({path: text for path, text in texts.items() if not _apart(path[len(self.top) :])})


def confirmed(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The deferred findings that other files of their projects confirm, as warnings or, proven, as errors."""
    projects: dict[str, _Project] = {}
    for finding in findings:
        top = _top(os.path.abspath(finding.file))  # noqa: PTH100 - as the folders that are climbed out of
        project = projects.setdefault(top, _Project(top))
        ask = _CONFIRMING.get(finding.code, _nothing)
        shown = (ask(project, finding) if _noted(finding) else None) or _started_alone(project, finding)
        if shown is not None:
            notes = tuple(_told(note, shown) if note.role in _OPEN else note for note in finding.related)
            if shown.at is not None and not _noted(finding):
                notes = (*notes, Related(os.path.relpath(shown.at[0]), shown.at[1], shown.said))
            message = shown.condition + finding.message.removeprefix(finding.condition)
            yield replace(finding, severity=shown.severity, message=message, condition=shown.condition, related=notes)


def _told(note: Related, shown: Confirmation) -> Related:
    file, line = (os.path.relpath(shown.at[0]), shown.at[1]) if shown.at is not None else (note.file, note.line)
    return replace(note, message=shown.said, file=file, line=line)


def settled(finding: Finding) -> Finding:
    """The finding as it is told where nothing answers the question whether it happens for certain."""
    notes = tuple(note for note in finding.related if note.role is not RelatedRole.UNSTARTED)
    return finding if len(notes) == len(finding.related) else replace(finding, related=notes)


def unsure(finding: Finding) -> bool:
    """Whether the other files of the project, or the texts of its repository, may have something to say of it."""
    return _noted(finding) or finding.code in _OF_SEVERAL_RANKS


def _noted(finding: Finding) -> bool:
    return any(note.role in _OPEN for note in finding.related)


def _unreached(finding: Finding) -> bool:
    return any(note.role is RelatedRole.UNREACHED for note in finding.related)


def stays(finding: Finding) -> bool:
    """Whether it is worth a look even if no other file confirms it."""
    open_ = any(note.role is RelatedRole.UNCONFIRMED for note in finding.related)
    return not (finding.code in _DROPPED and open_) and not _unreached(finding)


def _top(path: str) -> str:
    """The folder of the project: the one that contains the outermost package, or the file itself."""
    folder = posixpath.dirname(path)
    top = folder
    # the folder around a repository is no part of it, even if the repository is a package
    while is_file(f"{top}/__init__.py") and not _is_repository(top):
        folder, top = top, posixpath.dirname(top)
    return folder if posixpath.basename(top) in _AROUND else top


def _epochs(project: _Project, finding: Finding) -> Confirmation | None:
    """Whether the project iterates over epochs, nothing sets a sampler's epoch, and all files were searched; of a loop
    that runs once by default, whether a script or text gives it another number."""
    if any(note.role is RelatedRole.UNSTARTED for note in finding.related):
        return _more_epochs(project, finding)
    texts = project.all_texts
    if texts is None or any(_TELLS.search(text) for text in texts):
        return None
    loops = any(heuristics.EPOCH_LOOPS.found_in(text.decode(errors="replace")) for text in texts)
    return Confirmation("no file of the project does this") if loops else None


def _more_epochs(project: _Project, finding: Finding) -> Confirmation | None:
    path = os.path.abspath(finding.file)  # noqa: PTH100 - as the scripts' paths
    flag = _FLAG.search(finding.condition)
    more = re.compile(rb"--" + re.escape(flag.group(1).encode()) + rb"[= ]+(?!1(?!\d))\S") if flag is not None else None
    commands = (command for program, command in project.commands if _is_named(program, path))
    if more is None or not any(more.search(command) for command in commands):
        return None
    return Confirmation("it is started with more than one epoch", Severity.ERROR)


#: an option in the condition of a finding
_FLAG = re.compile(r"--([\w-]+)")


def _seeds(project: _Project, _: Finding) -> Confirmation | None:
    """Whether nothing in the project adds something to a seed."""
    texts = project.all_texts
    if texts is None or any(_SEEDS_MADE.search(text) for text in texts):
        return None
    return Confirmation("no file of the project adds anything to a seed")


def _launcher(project: _Project, finding: Finding) -> Confirmation | None:
    """Whether the old launcher starts it, as a script or text says; and what speaks against it."""
    path = os.path.abspath(finding.file)  # noqa: PTH100 - as the scripts' paths
    at = project.by_old_launcher.get(path)
    if at is not None and not project.is_for_torch_1(path) and _ends_at_unknown_options(path):
        said = "it is started here by torch.distributed.launch, which passes --local-rank since torch 2"
        return Confirmation(said, Severity.ERROR, at)
    hands_on = any(note.role is RelatedRole.UNCONFIRMED for note in finding.related)
    if project.is_for_torch_1(path):
        return None if hands_on else _FOR_TORCH_1
    told = at or _named(project.by_old_launcher_in_texts, path)
    if told is not None:
        return Confirmation("it is started here by torch.distributed.launch", at=told)
    if hands_on:
        return None if project.launched or project.as_one else Confirmation("nothing here says how it is started")
    return _BY_NO_LAUNCHER if _starts_otherwise(project, path) else None


#: the launcher of that torch passes what the program takes
_FOR_TORCH_1 = Confirmation("a text of the repository asks for torch 1", Severity.HINT)
_BY_NO_LAUNCHER = Confirmation("no script or text starts it with a launcher, and they start others", Severity.HINT)


def _named(started: Mapping[str, tuple[str, int]], path: str) -> tuple[str, int] | None:
    """Where a program is started; also by its name alone, from a folder that nothing tells."""
    return started.get(path) or next((at for program, at in started.items() if _is_named(program, path)), None)


def _starts_otherwise(project: _Project, path: str) -> bool:
    """Whether the repository says how its programs are started, and this one, or any, is not by a launcher."""
    if _named(project.launched, path) is not None or not (project.launched or project.as_one):
        return False
    is_program = b"__main__" in (read_file(path) or b"")
    return is_program or not project.launched


def _nothing(_: _Project, __: Finding) -> Confirmation | None:
    return None


#: what does harm only where a program runs as several ranks, and is no proof of a hang
_OF_SEVERAL_RANKS = frozenset({"DD101", "DD124", "DD131", "DD136", "DD141", "DD171", "DD173"})
_LOWER = {Severity.ERROR: Severity.WARNING, Severity.WARNING: Severity.HINT, Severity.HINT: Severity.HINT}
#: a program, or something that it uses, may start the ranks itself
_STARTS_RANKS = re.compile(
    rb"spawn|start_processes|elastic_launch|submitit|lightning|Process\(|notebook_launcher|horovod\.(?:run|spark|ray)"
    rb"|\bray\b|\bmpi|hydra"
)
_COMMENT = re.compile(rb"^\s*#.*")


def _started_alone(project: _Project, finding: Finding) -> Confirmation | None:
    """Whether the scripts and texts of the repository start the program as one process, and nothing starts ranks."""
    if finding.code not in _OF_SEVERAL_RANKS or finding.severity is Severity.HINT:
        return None
    path = os.path.abspath(finding.file)  # noqa: PTH100 - as the scripts' paths
    # a text may name it from a folder that nothing tells: one that starts several counts, unless another file has
    # the name as well and this one is started as one
    launched = _named(project.launched, path) is not None
    if path in project.launched or (launched and (path not in project.as_one or _is_only(project, path))):
        return None
    at = _named(project.as_one, path)
    if (at is None and (project.launched or not project.as_one)) or project.may_start_ranks(
        path, program=at is not None
    ):
        return None
    if project.runs_in_cluster:
        return None
    said, condition = "scripts and texts start it as one process only", "if it is started as several ranks, "
    return Confirmation(said, _LOWER[finding.severity], at, condition)


def _older_torch(project: _Project, finding: Finding) -> Confirmation | None:
    """Whether the repository is for a torch in which this was otherwise."""
    path = os.path.abspath(finding.file)  # noqa: PTH100 - as the scripts' paths
    return _FOR_TORCH_1 if project.is_for_torch_1(path) else None


def _option(project: _Project, finding: Finding) -> Confirmation | None:
    """Whether what is loaded is an option of the program that no script or text which starts it passes, or is loaded
    only with one that is off by default."""
    path = os.path.abspath(finding.file)  # noqa: PTH100 - as the scripts' paths
    text = read_file(path) or b""
    lines = text.splitlines()
    options = set(_OPTION.findall(lines[finding.line - 1])) if 0 < finding.line <= len(lines) else set()
    commands = [command for program, command in project.commands if _is_named(program, path)]
    asked = [options, *({option} for option in _asked_above(lines, finding.line) if _is_off(text, option))]
    for one in filter(None, asked if commands else ()):
        if not any(_passes(command, one) for command in commands):
            names = ", ".join(sorted(f"--{option.decode(errors='replace')}" for option in one))
            return Confirmation(f"no script or text that starts it passes {names}", Severity.HINT)
    return None


def _asked_above(lines: Sequence[bytes], number: int) -> Iterator[bytes]:
    """The options that the conditions around a line ask for."""
    depth = _indent(lines[number - 1]) if 0 < number <= len(lines) else 0
    for line in reversed(lines[: number - 1]):
        if line.strip() and _indent(line) < depth:
            depth = _indent(line)
            if line.lstrip().startswith((b"if ", b"elif ")) and b" not " not in line:
                yield from _OPTION.findall(line)
        if not depth:
            return


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _is_off(text: bytes, option: bytes) -> bool:
    """Whether the file has the option, and it is off where nobody gives it."""
    name = re.escape(option).replace(b"_", b"[-_]")
    found = re.search(rb"add_argument\([^()]*--" + name + rb"\b([^()]*)", text)
    given = _DEFAULT.search(found.group(1)) if found is not None else None
    return found is not None and (given is None or given.group(1) in _OFF)


#: the default of an option, and those that are off
_DEFAULT = re.compile(rb"default\s*=\s*([^,\s)]+)")
_OFF = frozenset({b"None", b"False", b"0", b"''", b'""'})


#: an option of the command line, read from where such are kept
_OPTION = re.compile(rb"\b(?:args|opts?|flags|FLAGS|params|hparams|config|cfg)\.(\w+)")


#: folders of texts about the folder that they are in
_ABOUT = re.compile(r"/(?:docs?|documentation|docker|requirements?|install|\.github)(?:[._-][^/]*)?/.*|/[^/]*$")


def _speaks_of(script: str) -> str:
    """The folder that a text speaks of: its own, or what its documentation is of."""
    return _ABOUT.sub("", script, count=1)


def _passes(command: bytes, options: set[bytes]) -> bool:
    """Whether it gives one of the options a value, or hands on options that are not seen."""
    words = command.replace(b"-", b"_")
    return any(re.search(rb"\b_*" + re.escape(option) + rb"\b", words) for option in options) or b"$@" in command


def _is_named(program: str, path: str) -> bool:
    return program == path or (posixpath.basename(program) == posixpath.basename(path) and not is_file(program))


def _is_only(project: _Project, path: str) -> bool:
    """Whether no other file of the repository has this name."""
    files = itertools.islice(_files(_root(project.top) or project.top), MOST_CALLERS)
    return sum(posixpath.basename(file) == posixpath.basename(path) for file in files) <= 1


def _one_process(project: _Project, finding: Finding) -> Confirmation | None:
    """Whether a script or text starts it without a launcher."""
    at = project.alone.get(os.path.abspath(finding.file))  # noqa: PTH100 - as the scripts' paths
    return Confirmation("it is started here without a launcher", at=at) if at is not None else None


def _ends_at_unknown_options(path: str) -> bool:
    return b"parse_known_args" not in (read_file(path) or b"parse_known_args")


def _seen_from(script: str, name: str, root: str) -> str:
    """The path of a program that a script names: from its own folder, or the nearest one around that has it."""
    folder = posixpath.dirname(script)
    while not is_file(program := posixpath.normpath(f"{folder}/{name}")) and folder != root:
        folder = posixpath.dirname(folder)
    return program


def _root(folder: str) -> str:
    """The folder of the repository that a folder is in, "" if there is none."""
    for _ in range(CLIMBED):
        if _is_repository(folder):
            return folder
        folder = posixpath.dirname(folder)
    return ""


def _is_repository(folder: str) -> bool:
    return os.path.exists(f"{folder}/.git")  # noqa: PTH110 - as the folders that are climbed out of


def _callers(project: _Project, finding: Finding) -> Confirmation | None:
    """Whether the function is called in the project, and nobody on the way to it leaves it to one rank."""
    path = os.path.abspath(finding.file)  # noqa: PTH100 - as the texts' paths
    if project.texts is None or not project.callers.never_choose(path, finding.line):
        return None
    asked = [project.texts[file] for file in project.callers.passed if file in project.texts]
    if _unreached(finding) and not any(_SEVERAL.search(text) for text in asked):
        return None
    starts = [project.texts[file] for file in project.callers.starts if file in project.texts]
    if starts and not any(_OF_A_JOB.search(text) for text in starts):
        return None  # a tool that one process runs: it converts, exports or shows what a job has made
    return Confirmation("none of its callers in the project leaves it to one rank")


def _nodes(project: _Project, finding: Finding) -> Confirmation | None:
    """Whether the program is started on several nodes, as its scripts say, or those of the repository where none starts
    it; and with its local rank, if that is an option."""
    path = os.path.abspath(finding.file)  # noqa: PTH100 - as the scripts' paths
    own = [script for script in project.scripts if _starts(project, script, path)]
    at = next((script for script in own or project.scripts if _ON_NODES.search(project.scripts[script])), None)
    if at is None or (own and _needs_option(path) and not any(_gives_local_rank(project.scripts[s]) for s in own)):
        return None
    found = _ON_NODES.search(project.scripts[at])
    line = project.scripts[at].count(b"\n", 0, found.start()) + 1 if found is not None else 1
    return Confirmation("the program is started on several nodes here", at=(at, line))


#: a job of Kubernetes whose pods are ranks
_MANIFEST = re.compile(
    rb"^\s*kind:\s*(?:PyTorchJob|MPIJob|TrainJob|PaddleJob|RayJob|RayCluster|JobSet)\b", re.MULTILINE
)
#: what starts a program on several nodes, or is told to
_ON_NODES = re.compile(
    rb"--(?:nnodes|num[-_](?:nodes|machines))[= ]+(?![\"']?1(?!\d))\S|--(?:node|machine)[-_]rank[= ]+[\"']?[1-9$]"
    rb"|^#SBATCH\s+(?:--nodes|-N)[= ]*(?!1(?!\d))\d",
    re.MULTILINE,
)
#: the local rank as an option of the program, from the environment, and what gives the option
_DECLARED = re.compile(rb"add_argument\(\s*[\"']--local[-_]rank")
_READ = re.compile(rb"(?:get|getenv)\(\s*[\"']LOCAL_RANK|environ\[[\"']LOCAL_RANK[\"']\](?!\s*=[^=])")
_GIVEN = re.compile(rb"--local[-_]rank")


def _starts(project: _Project, script: str, path: str) -> bool:
    commands = launch_scripts.starting_commands(project.scripts[script])
    return any(_is_named(_seen_from(script, name, _root(project.top)), path) for name, _ in commands)


def _needs_option(path: str) -> bool:
    text = read_file(path) or b""
    return _DECLARED.search(text) is not None and _READ.search(text) is None


def _gives_local_rank(script: bytes) -> bool:
    return _GIVEN.search(script) is not None or launch_scripts.OLD_LAUNCHER.search(script) is not None


#: what a configuration of DeepSpeed calls its ZeRO, and the stage of it
_ZERO = b"zero_optimization"
_STAGE = re.compile(rb"[\"']stage[\"']\s*:\s*[\"']?(\w+)")


def _unsharded(project: _Project, finding: Finding) -> Confirmation | None:
    """Whether DeepSpeed leaves the weights whole on each rank: no configuration has stage 3."""
    text = read_file(os.path.abspath(finding.file)) or b""  # noqa: PTH100 - as the scripts' paths
    stages = project.zero_stages
    if not stages or stages - {b"0", b"1", b"2"} or b"fsdp" in text.lower():
        return None
    said = ", ".join(sorted(stage.decode(errors="replace") for stage in stages))
    return Confirmation(f"the configurations of DeepSpeed are of stage {said}, which gathers nothing", Severity.HINT)


#: what the other files have to show, by code; None if they do not
_CONFIRMING: dict[str, Callable[[_Project, Finding], Confirmation | None]] = {
    "DD101": _epochs,
    "DD123": _one_process,
    "DD124": _callers,
    "DD125": _callers,
    "DD127": _older_torch,
    "DD131": _seeds,
    "DD144": _nodes,
    "DD146": _launcher,
    "DD171": _callers,
    "DD173": _option,
    "DD175": _unsharded,
}
#: nothing is said of these unless they are confirmed
_DROPPED = frozenset({"DD101"})


#: folders of files that no training run uses
_APART = frozenset({"test", "tests", "doc", "docs"})


def _apart(path: str) -> bool:
    return not _APART.isdisjoint(posixpath.dirname(path).split("/"))


def _files(top: str, endings: tuple[str, ...] = (".py", ".ipynb")) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _AROUND and not is_file(
            f"{folder}/{f}/pyvenv.cfg"))  # fmt: skip
        yield from (f"{folder}/{name}" for name in sorted(names) if name.endswith(endings))
