"""What becomes of deferred findings. Impure: reads files."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Set
from typing import TYPE_CHECKING

from ddpdoctor import workers
from ddpdoctor.lint import registry
from ddpdoctor.lint.cache import Cache
from ddpdoctor.lint.deferred.open_findings import OPEN, as_told, is_noted
from ddpdoctor.lint.deferred.project_folder import root_of, top_of
from ddpdoctor.lint.files import observed
from ddpdoctor.model.finding import Finding, Related, Severity
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import replace

if TYPE_CHECKING:
    from ddpdoctor.lint.deferred.confirmation import Confirmation

#: objects that were made and not deleted since garbage was last searched, before a project is asked about (one file
#: leaves some 22,000 to 90,000, which take 4 to 40 ms)
GARBAGE = 300_000


def confirmed(
    findings: Iterable[Finding], named: Set[str] = frozenset(), cache: Cache | None = None, *, jobs: int = 1
) -> Iterator[Finding]:
    """The deferred findings that other files of their projects confirm, as warnings or, proven, as errors.

    Of the files in `named`, how the repository starts them is not asked: who names a file means to start it. What
    `cache` knows is not asked again. Projects are asked by `jobs` processes, each project by one.
    """
    left: list[_Project] = []
    for top, open_ in _by_project(findings).items():
        project = _Project(top, open_, named)
        known = cache.told(*project.asked) if cache is not None else None
        if known is None:
            left.append(project)
        else:
            yield from known
    if jobs == 1 or len(left) == 1:
        for project in left:
            # what was linted, or read of the project before, refers to itself, and may be as large
            if gc.get_count()[0] > GARBAGE:
                gc.collect()
            yield from _told_of(project, cache)
        return

    def begin() -> Callable[[_Project], tuple[Finding, ...]]:
        return lambda project: _told_of(project, cache)

    # those of which most is asked first, so that none of them is left to the end alone
    left.sort(key=lambda project: -len(project.open))
    for project, told, _ in workers.each(begin, [[project] for project in left], jobs):
        yield from _told_of(project, cache) if isinstance(told, workers.Lost) else told


class _Project(NamedTuple):
    """A project, what is open in it, and the files that the user named."""

    top: str
    open: list[Finding]
    named: Set[str]

    @property
    def asked(self) -> tuple[str, list[Finding], tuple[str, list[str]]]:
        """By what the cache knows the answer."""
        named = sorted({finding.file for finding in self.open} & self.named)
        return self.top, self.open, (root_of(self.top), named)


def _told_of(project: _Project, cache: Cache | None) -> tuple[Finding, ...]:
    if cache is None:
        return tuple(_confirmed(project))
    with observed() as grounds:
        told = tuple(_confirmed(project))
    cache.store_told(*project.asked, told, grounds)
    return told


def _by_project(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The findings of each project, by its folder."""
    tops: dict[str, str] = {}
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        path = os.path.abspath(finding.file)  # noqa: PTH100 - as the folders that are climbed out of
        folder = os.path.dirname(path)  # noqa: PTH120 - as above
        if folder not in tops:
            tops[folder] = top_of(path)
        found.setdefault(tops[folder], []).append(finding)
    return found


def _confirmed(project: _Project) -> Iterator[Finding]:
    from ddpdoctor.lint.deferred.confirmations import confirmation  # what the cache tells is told without them
    from ddpdoctor.lint.deferred.missed_places import reached_instead
    from ddpdoctor.lint.deferred.repository import Repository

    repository = Repository(project.top)
    for finding in project.open:
        started = finding.file in project.named
        instead = None if started else reached_instead(repository, finding)
        if instead is not None:
            finding = replace(finding, related=(*finding.related, instead))
        shown = confirmation(repository, finding, asked=is_noted(finding), started=started)
        if shown is not None:
            notes = tuple(_told(note, shown) if note.role in OPEN else note for note in finding.related)
            if shown.at is not None and not is_noted(finding):
                notes = (*notes, Related(os.path.relpath(shown.at.file), shown.at.line, shown.said, shown.at.cell))
            message = shown.condition + finding.message.removeprefix(finding.condition)
            # of a rule that is off by default, no more is said where its hint is confirmed
            severity = shown.severity if finding.code in registry.defaults() else Severity.HINT
            told = replace(finding, severity=severity, message=message, condition=shown.condition, related=notes)
            yield as_told(told)
        elif instead is not None and not is_noted(finding):
            yield as_told(finding)


def _told(note: Related, shown: Confirmation) -> Related:
    if shown.at is None:
        return replace(note, message=shown.said)
    file, line, cell = shown.at
    return replace(note, message=shown.said, file=os.path.relpath(file), line=line, cell=cell)
