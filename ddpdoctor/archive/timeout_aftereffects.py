"""Pure. What followed a timeout is no cause: exits, aborted peers, the launcher's signals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ddpdoctor.archive.fragment import CollectiveTimeout, Fragment, WorkerExit
from ddpdoctor.archive.text_reader import is_abandoned_wait, is_timeout, stacks_of
from ddpdoctor.diagnose.digest.failure import is_peer_loss
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.ranks import Rank

#: what a watchdog, an exception and a launcher end a process with
_OF_A_TIMEOUT = frozenset({-6, -15, 1})

ByRank = Mapping[Rank, tuple[Fragment, ...]]


def had_timeout(by_rank: ByRank) -> bool:
    """Some rank gave up waiting; the job then ended by that."""
    return any(_gave_up(fragment) for fragments in by_rank.values() for fragment in fragments)


def without_aftereffects(by_rank: ByRank) -> ByRank:
    """The job as it was when the first rank gave up: whoever lost a peer or was ended after that stood in its call.

    A rank that ended by another signal may be the cause and stays so, unless it was ended after others had been.
    """
    if not had_timeout(by_rank):
        return by_rank
    consequences = [
        fragment.payload.time
        for fragments in by_rank.values()
        for fragment in fragments
        if isinstance(fragment.payload, WorkerExit)
        and fragment.payload.status in _OF_A_TIMEOUT
        and fragment.payload.time is not None
    ]
    first = min(consequences, default=None)
    return {
        rank: tuple(_before(fragment) for fragment in fragments if not _follows(fragment, fragments, first))
        for rank, fragments in by_rank.items()
    }


def _gave_up(fragment: Fragment) -> bool:
    said = fragment.payload
    return (isinstance(said, CollectiveTimeout) and bool(said.op)) or (isinstance(said, Raised) and is_timeout(said))


def _before(fragment: Fragment) -> Fragment:
    if isinstance(fragment.payload, Raised) and is_abandoned_wait(fragment.payload):
        return replace(fragment, payload=stacks_of(fragment.payload))
    return fragment


def _follows(fragment: Fragment, fragments: tuple[Fragment, ...], first: float | None) -> bool:
    """An exit that the timeout explains, or native code's word on it, which says nothing of where the rank stood."""
    ended = fragment.payload
    if isinstance(ended, Raised) and not ended.frames and (is_timeout(ended) or is_peer_loss(ended)):
        return True
    if not isinstance(ended, WorkerExit) or ended.status == 0:
        return False
    own_reason = any(isinstance(p.payload, Raised) and not is_abandoned_wait(p.payload) for p in fragments)
    if ended.status in _OF_A_TIMEOUT:
        return not own_reason
    return first is not None and ended.time is not None and ended.time >= first
