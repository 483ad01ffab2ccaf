"""Pure. What followed a timeout is no cause: exits, aborted peers, the launcher's signals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ddpdoctor.archive.fragment import Ended, Piece, Timeout
from ddpdoctor.archive.text_reader import gave_up, stood_in, timed_out
from ddpdoctor.diagnose.digest.failure import is_peer_loss
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.ranks import Rank

#: what a watchdog, an exception and a launcher end a process with
_OF_A_TIMEOUT = frozenset({-6, -15, 1})

ByRank = Mapping[Rank, tuple[Piece, ...]]


def had_timeout(by_rank: ByRank) -> bool:
    """Some rank gave up waiting; the job then ended by that."""
    return any(_gave_up(piece) for pieces in by_rank.values() for piece in pieces)


def before_the_timeout(by_rank: ByRank) -> ByRank:
    """The job as it was when the first rank gave up: whoever lost a peer or was ended after that stood in its call.

    A rank that ended by another signal may be the cause and stays so, unless it was ended after others had been.
    """
    if not had_timeout(by_rank):
        return by_rank
    consequences = [
        piece.payload.time
        for pieces in by_rank.values()
        for piece in pieces
        if isinstance(piece.payload, Ended) and piece.payload.status in _OF_A_TIMEOUT and piece.payload.time is not None
    ]
    first = min(consequences, default=None)
    return {
        rank: tuple(_before(piece) for piece in pieces if not _follows(piece, pieces, first))
        for rank, pieces in by_rank.items()
    }


def _gave_up(piece: Piece) -> bool:
    said = piece.payload
    return (isinstance(said, Timeout) and bool(said.op)) or (isinstance(said, Raised) and timed_out(said))


def _before(piece: Piece) -> Piece:
    if isinstance(piece.payload, Raised) and gave_up(piece.payload):
        return replace(piece, payload=stood_in(piece.payload))
    return piece


def _follows(piece: Piece, pieces: tuple[Piece, ...], first: float | None) -> bool:
    """An exit that the timeout explains, or native code's word on it, which says nothing of where the rank stood."""
    ended = piece.payload
    if isinstance(ended, Raised) and not ended.frames and (timed_out(ended) or is_peer_loss(ended)):
        return True
    if not isinstance(ended, Ended) or ended.status == 0:
        return False
    own_reason = any(isinstance(p.payload, Raised) and not gave_up(p.payload) for p in pieces)
    if ended.status in _OF_A_TIMEOUT:
        return not own_reason
    return first is not None and ended.time is not None and ended.time >= first
