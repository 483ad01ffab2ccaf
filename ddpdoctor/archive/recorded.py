"""Pure. Recorder dumps beside other evidence, and whose they are where nothing but names can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ddpdoctor.archive import naming
from ddpdoctor.archive.piece import Format, Piece, RankFrom
from ddpdoctor.archive.pool import Dumps
from ddpdoctor.model.crowd import written_out
from ddpdoctor.model.ranks import Rank

#: recorders that are put together with stacks and logs; of more, the first ones
MOST_RANKS = 256
#: a number at the end of a name is a rank where it is not far above the number of files: process ids are
_SPARSE = 16
_ALWAYS = 64


def ranks_of(names: Iterable[str]) -> Callable[[str], Rank | None]:
    """Tells the rank of a dump among these by its name."""
    every = tuple(names)
    told = naming.ranks(every)
    most = max(_ALWAYS, _SPARSE * len(every))

    def rank_of(name: str) -> Rank | None:
        rank = told.get(name, naming.rank_of(name))
        return rank if rank is not None and (name in told or rank < most) else None

    return rank_of


def pieces(dumps: Dumps) -> Iterator[Piece]:
    """Every rank's recorder as a piece of its own; whose it is by its name, the others' names help to tell."""
    for rank in sorted(dumps.members)[:MOST_RANKS]:
        known = rank in dumps.by_content
        yield Piece(
            dumps.names[rank],
            Format.RECORDER_PICKLE,
            written_out(dumps.members[rank]),
            rank if known else None,
            RankFrom.CONTENT if known else None,
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
