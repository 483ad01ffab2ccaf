"""The lint engine: from paths to findings in a stable order, on several processes for large inputs. Impure: reads
files.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Mapping, Set
from typing import TYPE_CHECKING

from ddpdoctor import workers
from ddpdoctor.lint import files, registry, repeats
from ddpdoctor.lint.cache import Cache
from ddpdoctor.lint.deferred import open_findings
from ddpdoctor.lint.file_result import FileResult, cached, in_order
from ddpdoctor.lint.files import Candidate, Sized
from ddpdoctor.lint.settings import Settings
from ddpdoctor.lint.stack_room import with_room
from ddpdoctor.model.finding import Finding, Related, RelatedRole, Severity
from ddpdoctor.model.record import record
from ddpdoctor.program import source

if TYPE_CHECKING:
    from ddpdoctor.lint.linter import Linter

#: Bytes of source per process, at most and at least. A process parses what its files import for itself, so few large
#: shares cost less than many small ones; what a process keeps is bounded whatever it has done.
LARGE, SMALL = 20_000_000, 50_000
#: bytes of source below which starting processes costs more than it saves
FEW = 100_000

#: called with the number of finished files and of all files
Progress = Callable[[int, int], None]


@record(frozen=True, slots=True)
class LintReport:
    """The result of a run."""

    findings: tuple[Finding, ...]
    #: by `Finding.source`
    texts: Mapping[str, str]
    #: files found, and how many of them could matter
    files: int
    mattering: int
    #: hints that the settings leave out
    hints: int = 0


def lint(
    paths: Iterable[str],
    settings: Settings,
    *,
    jobs: int = 1,
    root: str = "",
    progress: Progress | None = None,
    cache: Cache | None = None,
) -> LintReport:
    """Lint files and folders. Raises InputError for a path that does not exist.

    What `cache` knows is not analysed again, and what is analysed is kept there.
    """
    candidates = list(files.discover(paths, settings))
    jobs = jobs if workers.can_fork() else 1
    mattering = files.mattering(candidates, jobs)
    known = _known(mattering, cache) if cache is not None else {}
    left = [item for item in mattering if item[0] not in known]

    def begin() -> Linter:
        from ddpdoctor.lint.linter import Linter  # what is in the cache is told in a third of the time without it

        return Linter(settings, root, cache=cache)

    if jobs > 1 and sum(size for _, _, size in left) > FEW:
        analysed = with_room(lambda: _parallel(left, begin, jobs, progress))
    else:
        analysed = with_room(lambda: _one_by_one(left, begin(), progress)) if left else []
    by_path = {**known, **{result.path: result for result in analysed}}
    results = [by_path[path] for path, _, _ in mattering]
    # not those that are analysed in full because they start others
    named = frozenset(path for path, by_user in candidates if by_user)
    findings = repeats.left_out([f for f in _with_confirmed(results, named, cache, jobs) if settings.shows(f)])
    texts = {name: text for r in results for name, text in r.texts.items()}
    return LintReport(findings, texts, len(candidates), len(mattering), _left_out(results, findings, settings))


def _left_out(results: list[FileResult], findings: tuple[Finding, ...], settings: Settings) -> int:
    """How many hints are not reported, without those that other files have made more of."""
    open_ = (f for r in results for f in r.unsure if open_findings.stays(f) and not settings.shows(f))
    places = {in_order(f) for f in open_}
    return sum(result.hints for result in results) - sum(in_order(f) in places for f in findings)


def _known(mattering: list[Sized], cache: Cache) -> dict[str, FileResult]:
    found = ((path, cached(cache, path, named=named)) for path, named, _ in mattering)
    return {path: result for path, result in found if result is not None}


def _one_by_one(mattering: list[Sized], linter: Linter, progress: Progress | None) -> list[FileResult]:
    results: list[FileResult] = []
    for path, named, _ in mattering:
        if progress is not None:
            progress(len(results), len(mattering))
        results.append(linter.file(path, named=named))
    return results


def _with_confirmed(results: list[FileResult], named: Set[str], cache: Cache | None, jobs: int) -> list[Finding]:
    """All findings, including deferred ones that other files confirmed, in the order of each file; `named`: the files
    that the user named."""
    open_ = _unproved(results)
    if not open_:
        return [f for r in results for f in r.findings]
    # imported only when needed: most single files leave nothing open, and it takes a tenth of the time of one
    from ddpdoctor.lint.deferred import deferral

    told = with_room(lambda: [*deferral.confirmed(open_, named, cache, jobs=jobs)])
    # where the finding that was about another one turned out a hint, the other one has to be asked about by itself
    hints = {_place(f) for f in told if f.severity is Severity.HINT}
    left = [f for f in _unproved(results, hints) if f not in open_] if hints else []
    told += with_room(lambda: [*deferral.confirmed(left, named, cache, jobs=jobs)]) if left else []
    sure = {_identity(f): f for f in told}
    found: list[Finding] = []
    for result in results:
        more = {place: f for place, f in sure.items() if f.file == result.path}
        # a hint that was confirmed is the same finding as a warning
        rest = (f for f in result.findings if _identity(f) not in more)
        found += sorted([*more.values(), *rest], key=in_order)
    return found


def _unproved(results: list[FileResult], hints: Set[_Place] = frozenset()) -> list[Finding]:
    """Unsure findings, without open ones that another finding is about; `hints`: what is no warning although it was one
    in its file."""
    open_ = [f for r in results for f in r.unsure]
    if not open_:
        return []
    proved = {(f.code, os.path.relpath(r.file), r.line) for result in results for f in result.findings
              if f.severity is not Severity.HINT and _place(f) not in hints
              for r in f.related if not _is_own(r, f)}  # fmt: skip
    return [
        f for f in open_ if not open_findings.is_noted(f) or (f.code, os.path.relpath(f.file), f.line) not in proved
    ]


#: code, file and line of a finding
_Place = tuple[str, str, int]


def _place(finding: Finding) -> _Place:
    return finding.code, finding.file, finding.line


def _identity(finding: Finding) -> tuple[object, ...]:
    """Which finding it is: of one line there may be several, about lines of other files."""
    meant = ((note.file, note.line) for note in finding.related if note.role is RelatedRole.MEANT)
    return (in_order(finding), *meant)


def _is_own(note: Related, finding: Finding) -> bool:
    """Whether a note is about the line of its finding."""
    return (note.file, note.line) == (finding.file, finding.line)


def relax_collector() -> None:
    """Run Python's garbage collector only when the linter asks for it: syntax trees live as long as they are used.

    For processes that only lint; it saves a quarter of their time.
    """
    gc.freeze()
    gc.disable()


def _parallel(
    mattering: list[Sized], make: Callable[[], Linter], jobs: int, progress: Progress | None
) -> list[FileResult]:
    registry.registered()  # loaded once, before forking, so that every child has it

    def begin() -> Callable[[Candidate], FileResult]:
        linter = make()
        return lambda candidate: linter.file(candidate[0], named=candidate[1])

    found: dict[str, FileResult] = {}
    alone: list[list[Candidate]] = []
    for candidate, result, _ in workers.each(begin, _by_folder(mattering, jobs), jobs):
        if isinstance(result, workers.Lost):
            alone.append([candidate])  # again, alone in a process: earlier files may have used up its memory
        else:
            found[result.path] = result
        if progress is not None:
            progress(len(found), len(mattering))
    for (path, _), result, _ in workers.each(begin, alone, jobs):
        if not isinstance(result, workers.Lost):
            found[path] = result
        elif result.signal:
            killed = source.Unreadable(f"the process that analysed it was killed by signal {result.signal}")
            found[path] = FileResult(path, (_lost(path, killed),))
        else:
            found[path] = make().file(path, named=True)  # fails here as it did in the child
    return [found[path] for path, _, _ in mattering]


def _lost(path: str, problem: source.Unreadable) -> Finding:
    from ddpdoctor.lint.linter import unreadable  # as above

    return unreadable(path, problem)


def _by_folder(mattering: list[Sized], jobs: int) -> list[list[Candidate]]:
    """Files grouped by folder, because they import each other, in shares of similar size; the largest first."""
    enough = sum(size for _, _, size in mattering) // (2 * jobs)
    most = min(max(enough, SMALL), LARGE)
    sized: list[tuple[int, list[Candidate]]] = []
    for path, named, size in mattering:
        total, share = sized[-1] if sized else (most, [])
        if total + size // 2 >= most:
            total, share = 0, []
            sized.append((total, share))
        share.append((path, named))
        sized[-1] = (total + size, share)
    sized.sort(key=lambda item: -item[0])
    return [share for _, share in sized]
