"""Pure. Removes the consequences of a timeout from the evidence: exits, lost peers, the launcher's signals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ddpdoctor.archive.fragment import CollectiveTimeout, Fragment, WorkerExit
from ddpdoctor.archive.text_reader import is_abandoned_wait, is_timeout, stacks_of
from ddpdoctor.diagnose.digest.failure import is_peer_loss
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.ranks import Rank

#: exit statuses caused by a watchdog, an exception and a launcher
_OF_A_TIMEOUT = frozenset({-6, -15, 1})

ByRank = Mapping[Rank, tuple[Fragment, ...]]


def had_timeout(by_rank: ByRank) -> bool:
    """Whether some rank gave up waiting, which then ended the job."""
    return any(_gave_up(fragment) for fragments in by_rank.values() for fragment in fragments)


def without_aftereffects(by_rank: ByRank) -> ByRank:
    """The job as it was when the first rank gave up: a rank that lost a peer or was ended later is shown in its call.

    A rank that ended by another signal may be the cause and is kept, unless it ended after others had been ended.
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
    """Whether a fragment is an exit that the timeout explains, or a native exception of it, which does not show where
    the rank was."""
    ended = fragment.payload
    if isinstance(ended, Raised) and not ended.frames and (is_timeout(ended) or is_peer_loss(ended)):
        return True
    if not isinstance(ended, WorkerExit) or ended.status == 0:
        return False
    own_reason = any(isinstance(p.payload, Raised) and not is_abandoned_wait(p.payload) for p in fragments)
    if ended.status in _OF_A_TIMEOUT:
        return not own_reason
    return first is not None and ended.time is not None and ended.time >= first
