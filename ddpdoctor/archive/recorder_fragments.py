"""Pure. Recorder dumps beside other evidence, and whose they are where nothing but names can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ddpdoctor.archive import rank_from_filename
from ddpdoctor.archive.fragment import Format, Fragment, RankSource
from ddpdoctor.archive.parallel_dumps import Dumps
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.recorder_set import expand
from ddpdoctor.model.report import Report

#: recorders that are put together with stacks and logs rank by rank; of more, those that the recorders themselves name
MOST_RANKS = 256
#: of these, ranks that are named, and of each kind of waiting rank
_MOST_NAMED = 8
_EACH_KIND = 2
_MOST_KINDS = 8
#: a number at the end of a name is a rank where it is not far above the number of files: process ids are
_SPARSE = 16
_ALWAYS = 64


def ranks_of(names: Iterable[str]) -> Callable[[str], Rank | None]:
    """Tells the rank of a dump among these by its name."""
    every = tuple(names)
    told = rank_from_filename.ranks(every)
    most = max(_ALWAYS, _SPARSE * len(every))

    def rank_of(name: str) -> Rank | None:
        rank = told.get(name, rank_from_filename.rank_of(name))
        return rank if rank is not None and (name in told or rank < most) else None

    return rank_of


def ranks_to_examine(report: Report) -> RankSet:
    """The ranks whose stacks and logs can add to a verdict on very many recorders: those named, some that wait."""
    named = [rank for diagnosis in report.diagnoses for rank in diagnosis.culprits][:_MOST_NAMED]
    kinds: dict[object, list[Rank]] = {}
    for status in report.ranks:
        place = (status.location.file, status.location.line) if status.location else None
        kinds.setdefault((status.state, status.label, place), []).append(status.rank)
    some = [rank for ranks in list(kinds.values())[:_MOST_KINDS] for rank in ranks[:_EACH_KIND]]
    return RankSet.of((*named, *some))


def refine(report: Report, seen: Report) -> Report:
    """The verdict on all recorders, with the causes that stacks and logs give for the ranks that it names."""
    named = {rank for diagnosis in report.diagnoses for rank in diagnosis.culprits}
    causes = [
        replace(diagnosis, waiting=report.diagnoses[0].waiting - diagnosis.culprits)
        for diagnosis in seen.diagnoses
        if diagnosis.confidence is not Confidence.POSSIBLE
        and diagnosis.culprits
        and named.issuperset(diagnosis.culprits)
    ]
    code = {**report.code, **seen.code}
    return replace(report, diagnoses=(*causes, *report.diagnoses), code=code, gaps=(*report.gaps, *seen.gaps))


def fragments(dumps: Dumps, only: RankSet | None = None) -> Iterator[Fragment]:
    """Every rank's recorder as a fragment of its own; whose it is by its name, the others' names help to tell.

    Of few out of many the names tell too little: there the rank is given.
    """
    for rank in only if only is not None else sorted(dumps.members):
        if rank not in dumps.members:
            continue
        if only is not None:
            recorder = expand(dumps.members[rank])
            yield Fragment(dumps.names[rank], Format.RECORDER_PICKLE, recorder, rank, RankSource.NAME)
            continue
        known = rank in dumps.by_content
        yield Fragment(
            dumps.names[rank],
            Format.RECORDER_PICKLE,
            expand(dumps.members[rank]),
            rank if known else None,
            RankSource.CONTENT if known else None,
        )


def notes(dumps: Dumps) -> Iterator[str]:
    """Where the ranks' numbers come from."""
    sources = [
        f"{words} ({'rank' if len(ranks) == 1 else 'ranks'} {ranks})"
        for words, ranks in (("what the dumps say", dumps.by_content), ("file names", dumps.by_name))
        if ranks
    ]
    if sources:
        yield f"rank numbers come from {'; '.join(sources)}"
