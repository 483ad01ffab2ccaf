"""The versions of Python, torch and Lightning that a repository asks for. Impure: reads files."""

from __future__ import annotations

import os
import posixpath
import re
import sys

from ddpdoctor.lint.deferred.confirmation import Confirmation, path_of
from ddpdoctor.lint.deferred.launches import Place
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.late_pattern import late_pattern

#: the launcher of that torch passes what the program takes
ASKED_FOR_TORCH_1 = Confirmation("a text of the repository asks for torch 1", Severity.HINT)


def older_torch(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the repository is for a torch in which this was otherwise."""
    return ASKED_FOR_TORCH_1 if repository.launches.are_for_torch_1(path_of(finding)) else None


#: the first torch in which `destroy_process_group` waits for what NCCL still does
_WAITS_AT_END = (2, 6)


def ends_without_waiting(repository: Repository, _finding: Finding) -> Confirmation | None:
    """Whether every text that asks for a certain torch asks for one that gives up a group at once."""
    newest = repository.launches.newest_torch
    if newest is None or newest[0] >= _WAITS_AT_END:
        return None
    (major, minor), _ = newest
    said = f"the newest torch that a text of the repository asks for is {major}.{minor}"
    return Confirmation(said, Severity.HINT, condition="where torch is 2.6 or newer, ")


def unparsed(repository: Repository, finding: Finding) -> Confirmation | None:
    """Of a file that does not parse, whether nothing in the repository imports, starts or names it, or a newer Python
    is asked for."""
    path, launches = path_of(finding), repository.launches
    if (newer := launches.python) is not None and newer > sys.version_info[:2]:
        return Confirmation(f"the repository asks for Python {newer[0]}.{newer[1]}", Severity.HINT)
    word = re.compile(rb"\b" + re.escape(os.fsencode(posixpath.basename(path).partition(".")[0])) + rb"\b")
    if repository.users_of(path) != {path} or any(map(word.search, launches.scripts.values())):
        return None
    return Confirmation("nothing in the repository imports, starts or names this file", Severity.HINT)


#: the first torch that seeds numpy in each worker
_SEEDS_NUMPY = (1, 9)


def before_numpy_was_seeded(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the repository is for a torch whose workers leave numpy's state as it is."""
    newest = repository.launches.newest_torch
    if newest is None or newest[0] >= _SEEDS_NUMPY:
        return None
    return Confirmation("a torch before 1.9 is asked for here", at=newest[1], condition=finding.condition)


#: a backend that torch had before 1.0, which received messages in the order in which they were asked for
_TCP = late_pattern(rb"""init_process_group\([^()]*["']tcp["']|backend["']?\s*[=,][^()\n]*["']tcp["']""")


def by_tcp(repository: Repository, _: Finding) -> Confirmation | None:
    """Whether the project makes its groups with a backend that only torch before 1.0 has."""
    for path, text in (repository.texts or {}).items():
        if (found := _TCP.search(text)) is not None:
            at = Place(path, text.count(b"\n", 0, found.start()) + 1)
            return Confirmation("the backend that is named here, tcp, went with torch 1.0", Severity.HINT, at)
    return None


OLD_LIGHTNING = Confirmation(
    "a text of the repository asks for Lightning 1", Severity.HINT, condition="where Lightning is 2.0 or newer, "
)
