"""Whether the callers of a line, or a flag around it, leave it to one rank. Impure: reads files."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator

from ddpdoctor.lint.deferred.confirmation import Confirmation, parsed, path_of
from ddpdoctor.lint.deferred.launches import Place, place_of
from ddpdoctor.lint.deferred.open_findings import is_unreached
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.deferred.started_ranks import SEVERAL
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program.enclosing import choices_at
from ddpdoctor.program.nodes import last_name, walk

#: a program may have to do with several ranks
_OF_A_JOB = late_pattern(
    rb"rank|distribut|\bddp|deepspeed|accelerat|lightning|Trainer\b|horovod|torchrun|fabric", re.IGNORECASE
)
#: what does harm where a condition lets all ranks come there
_WHERE_ALL_COME = frozenset({"DD124", "DD171"})


def set_by_rank(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether a flag around the line is set by the rank somewhere in the project: `cfg["log"] = rank == 0`."""
    if finding.code not in _WHERE_ALL_COME or finding.severity is not Severity.WARNING:
        return None
    names = _flags_around(finding)
    # what the file itself sets is known there
    others = {path: text for path, text in (repository.texts or {}).items() if path != path_of(finding)}
    for path, text in others.items():
        for name in sorted(names):
            assigned = rb"^[ \t]*[\w.\[\"']*\b" + re.escape(name.encode()) + rb"[\"']?\]?[ \t]*=(?!=)[^\n]*"
            set_by_rank = re.search(assigned + _RANK_COMPARED, text, re.MULTILINE)
            if set_by_rank is not None:
                at = Place(path, text.count(b"\n", 0, set_by_rank.start()) + 1)
                said, condition = f"{name} is set by the rank here", f"unless {name} is set on one rank alone, "
                return Confirmation(said, Severity.HINT, at, condition)
    return None


def _flags_around(finding: Finding) -> set[str]:
    """What the conditions read that are around the line and around those that it refers to."""
    places = [(finding.file, finding.line), *((note.file, note.line) for note in finding.related)]
    tests = (test for _, tree, line in parsed(places) for test in choices_at(tree, line))
    return {name for test in tests for name in _flags(test)}


def _flags(test: ast.expr) -> Iterator[str]:
    """The variables, attributes and keys that a condition reads."""
    for node in walk(test):
        name = last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            name = str(node.slice.value)
        if name not in ("", "self"):
            yield name


#: a condition on a rank, as it is written
_RANK_COMPARED = (
    rb"(?:rank\w*(?:\(\))?[ \t]*(?:==|in[ \t]*[\[(]|<)|\bnot[ \t]+[\w.]*rank|\bis_(?:main|master|first)|\bmain_process)"
)


def never_left_to_one(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the function is called in the project, and nobody on the way to it leaves it to one rank."""
    texts, callers = repository.texts, repository.callers
    if texts is None or not callers.never_choose(path_of(finding), finding.line):
        return None
    asked = [texts[file] for file in callers.passed if file in texts]
    if is_unreached(finding) and not any(SEVERAL.search(text) for text in asked):
        return None
    starts = [texts[file] for file in callers.starts if file in texts]
    if starts and not any(_OF_A_JOB.search(text) for text in starts):
        return None  # a tool that one process runs: it converts, exports or shows what a job has made
    return Confirmation("none of its callers in the project leaves it to one rank")


def of_a_tool(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether only programs call the function that have nothing to do with ranks and are started as one process:
    they convert, or prepare."""
    if finding.code not in _WHERE_ALL_COME or finding.severity is not Severity.WARNING:
        return None
    texts, callers = repository.texts, repository.callers
    if texts is None or not callers.never_choose(path_of(finding), finding.line) or not callers.starts:
        return None
    launches = repository.launches
    for start in callers.starts:
        several = place_of(launches.as_several, start) is not None or place_of(launches.as_one, start) is None
        if several or start == path_of(finding) or _OF_A_JOB.search(texts[start]):
            return None
    name = posixpath.basename(min(callers.starts))
    said = f"only programs of one process call it: {name}"
    return Confirmation(said, Severity.HINT, condition="if a program of several ranks calls it, ")


def attended(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether all ranks come there: as the callers show, or, of a program, as a script or text starts it."""
    if all(note.role is not RelatedRole.UNSTARTED for note in finding.related):
        return never_left_to_one(repository, finding)
    at = place_of(repository.launches.by_launcher, path_of(finding))
    return Confirmation("several ranks are started here", at=at) if at is not None else None
