"""The files of a linted one's project and repository, which can tell more of it. Impure: reads files."""

from __future__ import annotations

import itertools
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from ddpdoctor.lint.deferred.callers import Callers
from ddpdoctor.lint.deferred.launches import COMMANDS, Launches
from ddpdoctor.lint.files import is_file, read_file
from ddpdoctor.model.record import record
from ddpdoctor.program import libraries
from ddpdoctor.program.project import CLIMBED

#: most files of a project: beyond that, not all of them can be searched
MOST = 300
#: the same for files that are only searched for the name of a function
MOST_CALLERS = 1_500
_AROUND = frozenset({*libraries.FOLDERS, "node_modules", "build", "dist"})
#: ends of the names of all files in which people write how their programs are started and what they need; and the most
#: of them that are read
_SCRIPTS = (
    *COMMANDS,
    *(".md", ".rst", ".txt"),
    *("env.yml", "env.yaml", "environment.yml", "environment.yaml", "conda.yml", "conda.yaml", "pyproject.toml"),
    *("setup.cfg", "Makefile", "Dockerfile"),
)
MOST_SCRIPTS = 500
#: bytes of one of them at most: what is larger is data
LARGEST_SCRIPT = 500_000
#: what a configuration of DeepSpeed calls its ZeRO, and the stage of it
_ZERO = b"zero_optimization"
_STAGE = re.compile(rb"[\"']stage[\"']\s*:\s*[\"']?(\w+)")
#: a program, or something that it uses, may start the ranks itself
_STARTS_RANKS = re.compile(
    rb"spawn|start_processes|elastic_launch|submitit|lightning|Process\(|notebook_launcher|horovod|\bray\b|\bmpi|hydra"
)
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
        paths = list(itertools.islice(_files(self.top), MOST_CALLERS + 1))
        read = {path: raw for path in paths if (raw := read_file(path)) is not None}
        return read if len(paths) <= MOST_CALLERS and len(read) == len(paths) else None

    @property
    def all_texts(self) -> Iterable[bytes] | None:
        """The contents of all the project's files, if they are few enough to be searched in full."""
        return self.texts.values() if self.texts is not None and len(self.texts) <= MOST else None

    @cached_property
    def callers(self) -> Callers:
        """Who calls what in the project."""
        texts = self.texts or {}
        return Callers({path: text for path, text in texts.items() if not _is_apart(path[len(self.top) :])})

    @cached_property
    def may_start_ranks(self) -> bool:
        """Whether a program of the project may start ranks itself; so it may where there are too many to read."""
        return self.texts is None or any(map(_STARTS_RANKS.search, self.texts.values()))

    @cached_property
    def launches(self) -> Launches:
        """How the scripts and texts of the whole repository start its programs."""
        return Launches(self._read(_SCRIPTS), self._root)

    @cached_property
    def zero_stages(self) -> frozenset[bytes]:
        """The stages of DeepSpeed's ZeRO that configurations of the repository name, as files or in its programs."""
        texts = [*self._read((".json",)).values(), *(text for text in (self.texts or {}).values() if b"stage" in text)]
        return frozenset(stage for text in texts if _ZERO in text for stage in _STAGE.findall(text))

    def _read(self, endings: tuple[str, ...]) -> dict[str, bytes]:
        """The repository's files with these endings by path, those of a size that people write."""
        found = itertools.islice(_files(self._root, endings), MOST_SCRIPTS) if self._root else ()
        read = ((path, read_file(path)) for path in found)
        return {path: raw for path, raw in read if raw is not None and len(raw) <= LARGEST_SCRIPT}

    @cached_property
    def _root(self) -> str:
        """The folder of the repository that the project is in, "" if there is none."""
        folder = self.top
        for _ in range(CLIMBED):
            if os.path.exists(f"{folder}/.git"):  # noqa: PTH110 - as the folders that are climbed out of
                return folder
            folder = posixpath.dirname(folder)
        return ""


def top_of(path: str) -> str:
    """The folder of a file's project: the one that contains the outermost package, or the file itself."""
    folder = posixpath.dirname(path)
    top = folder
    while is_file(f"{top}/__init__.py"):
        folder, top = top, posixpath.dirname(top)
    return folder if posixpath.basename(top) in _AROUND else top


def _is_apart(path: str) -> bool:
    return not _APART.isdisjoint(posixpath.dirname(path).split("/"))


def _files(top: str, endings: tuple[str, ...] = (".py", ".ipynb")) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _AROUND and not is_file(
            f"{folder}/{f}/pyvenv.cfg"))  # fmt: skip
        yield from (f"{folder}/{name}" for name in sorted(names) if name.endswith(endings))
