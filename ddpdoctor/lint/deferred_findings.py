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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from ddpdoctor.lint.callers import Callers
from ddpdoctor.lint.files import is_file, read_file
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.knowledge.packages import Does, that
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
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
_OPEN = frozenset({RelatedRole.UNCONFIRMED, RelatedRole.UNREACHED})
_AROUND = frozenset({*libraries.FOLDERS, "node_modules", "build", "dist"})
#: something makes this program one of several ranks
_SEVERAL = re.compile(
    rb"init_process_group|DistributedDataParallel|Accelerator\(|init_distributed|mp\.spawn|get_rank\(|deepspeed\.initialize"
)


#: a program may have to do with several ranks
_OF_A_JOB = re.compile(
    rb"rank|distribut|\bddp|deepspeed|accelerat|lightning|Trainer\b|horovod|torchrun|fabric", re.IGNORECASE
)
#: how scripts and texts start ranks: by the launcher that passes the local rank as an option, or otherwise
_OLD_LAUNCHER = re.compile(rb"torch\.distributed\.launch\b(?![^\n]*--use[-_]env)")
_LAUNCHED = re.compile(rb"torch\.distributed\.(launch|run)\b|\b(torchrun|srun|mpirun|dist-run)\b")
#: files in which people write how their programs are started, and most of them that are read
_SCRIPTS = (".sh", ".md", ".rst", ".txt", ".slurm", ".sbatch")
MOST_SCRIPTS = 500


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
    def scripts(self) -> list[bytes]:
        """The scripts and texts of the whole repository, with lines that go on put together."""
        root = _root(self.top)
        found = itertools.islice(_files(root, _SCRIPTS), MOST_SCRIPTS) if root else ()
        return [re.sub(rb"\\\r?\n", b" ", raw) for path in found if (raw := read_file(path)) is not None]

    @cached_property
    def callers(self) -> Callers:
        texts = self.texts or {}
        return Callers({path: text for path, text in texts.items() if not _apart(path[len(self.top) :])})


def confirmed(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The deferred findings that the other files of their projects confirm, as warnings."""
    projects: dict[str, _Project] = {}
    for finding in findings:
        top = _top(os.path.abspath(finding.file))  # noqa: PTH100 - as the folders that are climbed out of
        said = _CONFIRMING[finding.code](projects.setdefault(top, _Project(top)), finding)
        if said:
            notes = tuple(replace(note, message=said) if note.role in _OPEN else note for note in finding.related)
            message = finding.message.removeprefix(finding.condition)
            yield replace(finding, severity=Severity.WARNING, message=message, condition="", related=notes)


def unsure(finding: Finding) -> bool:
    return any(note.role in _OPEN for note in finding.related)


def _unreached(finding: Finding) -> bool:
    return any(note.role is RelatedRole.UNREACHED for note in finding.related)


def stays(finding: Finding) -> bool:
    """Whether it is worth a look even if no other file confirms it."""
    return finding.code not in _DROPPED and not _unreached(finding)


def _top(path: str) -> str:
    """The folder of the project: the one that contains the outermost package, or the file itself."""
    folder = posixpath.dirname(path)
    top = folder
    while is_file(f"{top}/__init__.py"):
        folder, top = top, posixpath.dirname(top)
    return folder if posixpath.basename(top) in _AROUND else top


def _epochs(project: _Project, _: Finding) -> str:
    """Whether the project iterates over epochs, nothing sets a sampler's epoch, and all files were searched."""
    texts = project.all_texts
    if texts is None or any(_TELLS.search(text) for text in texts):
        return ""
    loops = any(heuristics.EPOCH_LOOPS.found_in(text.decode(errors="replace")) for text in texts)
    return "no file of the project does this" if loops else ""


def _seeds(project: _Project, _: Finding) -> str:
    """Whether nothing in the project adds something to a seed."""
    texts = project.all_texts
    if texts is None or any(_SEEDS_MADE.search(text) for text in texts):
        return ""
    return "no file of the project adds anything to a seed"


def _launcher(project: _Project, _: Finding) -> str:
    """Whether the old launcher may start it: a script of the project says so, or none says how anything is started."""
    if any(_OLD_LAUNCHER.search(text) for text in project.scripts):
        return "a script of the project uses torch.distributed.launch"
    if any(_LAUNCHED.search(text) for text in project.scripts):
        return ""
    return "no script of the project says how it is started"


def _root(folder: str) -> str:
    """The folder of the repository that a folder is in, "" if there is none."""
    for _ in range(CLIMBED):
        if os.path.exists(f"{folder}/.git"):  # noqa: PTH110 - as the folders that are climbed out of
            return folder
        folder = posixpath.dirname(folder)
    return ""


def _callers(project: _Project, finding: Finding) -> str:
    """Whether the function is called in the project, and nobody on the way to it leaves it to one rank."""
    path = os.path.abspath(finding.file)  # noqa: PTH100 - as the texts' paths
    if project.texts is None or not project.callers.never_choose(path, finding.line):
        return ""
    asked = [project.texts[file] for file in project.callers.passed if file in project.texts]
    if _unreached(finding) and not any(_SEVERAL.search(text) for text in asked):
        return ""
    starts = [project.texts[file] for file in project.callers.starts if file in project.texts]
    if starts and not any(_OF_A_JOB.search(text) for text in starts):
        return ""  # a tool that one process runs: it converts, exports or shows what a job has made
    return "none of its callers in the project leaves it to one rank"


#: what the other files have to show, by code: the words for it, "" if they do not
_CONFIRMING: dict[str, Callable[[_Project, Finding], str]] = {
    "DD101": _epochs,
    "DD124": _callers,
    "DD125": _callers,
    "DD131": _seeds,
    "DD146": _launcher,
    "DD171": _callers,
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
