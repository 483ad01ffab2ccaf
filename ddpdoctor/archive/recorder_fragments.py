"""Pure. Recorder dumps combined with other evidence, and their ranks if only file names state them."""

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

#: the most recorders that are combined with stacks and logs rank by rank; of more, those that the recorders' verdict
#: names
MOST_RANKS = 256
#: of these, the most culprits, and the most waiting ranks of each kind
_MOST_NAMED = 8
_EACH_KIND = 2
_MOST_KINDS = 8
#: a number at the end of a name is a rank if it is below this multiple of the number of files; process ids are larger
_SPARSE = 16
_ALWAYS = 64


def ranks_of(names: Iterable[str]) -> Callable[[str], Rank | None]:
    """A function from a dump's name to its rank, given the names of all dumps."""
    every = tuple(names)
    by_name = rank_from_filename.ranks(every)
    most = max(_ALWAYS, _SPARSE * len(every))

    def rank_of(name: str) -> Rank | None:
        rank = by_name.get(name, rank_from_filename.rank_of(name))
        return rank if rank is not None and (name in by_name or rank < most) else None

    return rank_of


def ranks_to_examine(report: Report) -> RankSet:
    """The ranks whose stacks and logs can refine a verdict on very many recorders: those it names, and some that
    wait."""
    named = [rank for diagnosis in report.diagnoses for rank in diagnosis.culprits][:_MOST_NAMED]
    kinds: dict[object, list[Rank]] = {}
    for status in report.ranks:
        place = (status.location.file, status.location.line) if status.location else None
        kinds.setdefault((status.state, status.label, place), []).append(status.rank)
    some = [rank for ranks in list(kinds.values())[:_MOST_KINDS] for rank in ranks[:_EACH_KIND]]
    return RankSet.of((*named, *some))


def refine(report: Report, seen: Report) -> Report:
    """The verdict on all recorders, with the causes that stacks and logs show for the ranks it names."""
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
    """Every rank's recorder as a fragment; its rank is found from its name, with the help of the others' names.

    Of a selection the names are not enough, so there the rank is given.
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
    """Where the rank numbers come from."""
    sources = [
        f"{words} ({'rank' if len(ranks) == 1 else 'ranks'} {ranks})"
        for words, ranks in (("the content of the dumps", dumps.by_content), ("file names", dumps.by_name))
        if ranks
    ]
    if sources:
        yield f"rank numbers come from {'; '.join(sources)}"
