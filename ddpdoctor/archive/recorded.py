"""Pure. Recorder dumps beside other evidence: written out rank by rank, as far as a person can follow."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.archive.piece import Format, Piece, RankFrom
from ddpdoctor.archive.pool import Dumps

#: recorders that are put together with stacks and logs; of more, the first ones
MOST_RANKS = 512


def pieces(dumps: Dumps) -> Iterator[Piece]:
    """Every rank's recorder as a piece of its own."""
    for rank in sorted(dumps.crowd.members)[:MOST_RANKS]:
        told = RankFrom.CONTENT if rank in dumps.by_content else RankFrom.NAME
        recorder = dumps.crowd.recorder(rank)
        yield Piece(f"recorder dump of rank {rank}", Format.RECORDER_PICKLE, recorder, rank, told)


def notes(dumps: Dumps) -> Iterator[str]:
    """Where the ranks' numbers come from."""
    sources = [
        f"{words} ({'rank' if len(ranks) == 1 else 'ranks'} {ranks})"
        for words, ranks in (("what the dumps say", dumps.by_content), ("file names", dumps.by_name))
        if ranks
    ]
    if sources:
        yield f"rank numbers come from {'; '.join(sources)}"
