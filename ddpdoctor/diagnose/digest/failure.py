"""The first failure of a crash: which rank raised an exception first, and which are only its victims."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.model import supervisors, torch_internals
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.processes import JobEnd
from ddpdoctor.model.progress import EndKind, Raised
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site

#: Messages of a rank whose peer has gone. Never the cause of a crash if another rank has a failure of its own.
_PEER_LOSS = re.compile(
    r"connection closed by peer|connection reset|connection refused|broken pipe|gloo/transport|"
    r"remote process exited|remote error|ncclremoteerror|ncclsystemerror|socket timeout|"
    r"wait timeout|timed out (waiting|connecting)|application timeout|watchdog caught collective|connectfullmesh|"
    r"reached monitoredbarrier, but received errors|"
    r"recv(value)? failed|failed to (recv|send)|store.*(closed|shut ?down)",
    re.IGNORECASE,
)
_PEER_LOSS_TYPES = frozenset({"DistBackendError", "DistNetworkError", "DistStoreError", "RuntimeError", "ValueError"})
#: exceptions used for control flow, not for errors
_SIGNALS = frozenset({"StopIteration", "StopAsyncIteration", "GeneratorExit", "Empty", "Full", "TimeoutError"})
#: Signals that launchers send to the survivors of a first death, with the earliest delay in seconds. torchrun leaves 30
#: s between SIGTERM and SIGKILL; other launchers less.
_LAUNCHER_DELAY = {-15: 0.0, -2: 0.0, -9: 2.0}
#: signals that end a job, whatever it does about them: SIGHUP, SIGINT, SIGTERM
_ENDS = (1, 2, 15)
#: signals that no fault of a program raises: those, SIGQUIT, SIGUSR1 and SIGUSR2
_SENT = (*_ENDS, 3, 10, 12)
#: How long an interpreter takes at most to end after an exception, with flushing and joining daemons, in seconds.
ON_ITS_WAY_OUT_SECONDS = 3.0
#: SIGABRT: gloo ends a process with it when operations of unequal size meet
ABORTED = -6
_FATAL_FRAME = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Failure:
    """How one rank failed."""

    rank: Rank
    #: CLOCK_MONOTONIC seconds
    time: float
    raised: Raised | None
    #: exit status, None while the process still lives or where nothing tells it
    status: int | None
    #: the rank only lost a peer, or the launcher ended it
    victim: bool
    #: the last exception says that a peer has gone; this is the one behind it, which may have been handled correctly
    hidden: bool = False
    #: it was ended from outside: by what was passed on to the job, with other ranks at once, by its launcher although
    #: no rank had failed, or by a signal that only people and schedulers send
    outside: bool = False
    #: its program had come to its end without an exception before: what failed is the interpreter's own end
    after_end: bool = False

    @property
    def died_by_signal(self) -> bool:
        return self.raised is None and self.status is not None and self.status < 0

    @property
    def amid_mismatch(self) -> bool:
        """SIGABRT without an exception amid the program: how gloo ends a rank whose operations do not match."""
        return self.raised is None and self.status == ABORTED and not self.after_end


def find_masked(evidence: Evidence) -> tuple[Failure, ...]:
    """Ranks with an exception of their own whose process is still alive: in a `finally`, or blocked while it exits."""
    found: list[Failure] = []
    for rank in evidence.ranks:
        if rank.exit is not None or rank.page is None or not _lives(rank):
            continue
        raised = _raised(rank) if is_masked(rank, evidence.timing.collected) else None
        own = [one for one in rank.page.pending if not is_peer_loss(reason(one)) and reason(one).type not in _SIGNALS]
        last = raised or _left_by_exit(rank) or min(own, key=lambda one: reason(one).time, default=None)
        if last is not None:
            first = reason(last)
            found.append(Failure(rank.rank, first.time, first, None, is_peer_loss(first), first is not last))
    return tuple(sorted(found, key=lambda failure: (failure.victim, failure.time, failure.rank)))


def reason(raised: Raised) -> Raised:
    """The exception; if it only says that a peer has gone, the first one behind it that says something else.

    A `finally: dist.barrier()` after a failure fails too, and hides that failure.
    """
    if not is_peer_loss(raised):
        return raised
    return next((one for one in raised.before if not is_peer_loss(one) and one.type not in _SIGNALS), raised)


def _left_by_exit(rank: RankEvidence) -> Raised | None:
    """Whether an uncaught `sys.exit` with a failure status has taken the main thread out of the program."""
    page, main = rank.page, frames.main_thread(rank)
    if page is None or page.leaving is None or main is None or not main.frames:
        return None
    went_on = any(event.time > page.leaving.time for event in page.events)
    # the program may be run from an installed package; in a child of multiprocessing the module frame has no file
    module = any(frame.function == "<module>" and not frame.file.startswith("<") for frame in main.frames)
    inside = module or bool(frames.own_frames(main.frames))
    return None if went_on or inside else page.leaving


def is_masked(rank: RankEvidence, now: float) -> bool:
    """Whether the exception left the program a while ago and the process is still alive."""
    raised = _raised(rank)
    late = raised is not None and now - raised.time > ON_ITS_WAY_OUT_SECONDS
    return rank.exit is None and late and _lives(rank)


def _lives(rank: RankEvidence) -> bool:
    return rank.process is not None and rank.process.state not in ("Z", "X")


def find_failures(evidence: Evidence) -> tuple[Failure, ...]:
    """Every rank that failed, first failure first; victims after the ranks with a failure of their own."""
    judged = _ended_ranks(evidence)
    for look_deeper in (_all_uncovered, _with_hidden, _first_to_blame):
        if judged and all(failure.victim for failure in judged):
            judged = look_deeper(evidence, judged)
    judged = _from_outside(evidence, judged)
    return tuple(sorted(judged, key=lambda failure: (failure.victim, failure.time, failure.rank)))


def _ended_ranks(evidence: Evidence) -> list[Failure]:
    """The ranks that ended with a failure or for one. Nobody where their framework ended all after their work."""
    dying = [rank for rank in evidence.ranks if not is_masked(rank, evidence.timing.collected)]
    found = [failure for failure in map(_failure, dying) if failure]
    found += _without_a_word(evidence, dying, found)
    dismissed = {rank.rank for rank in filter(_dismissed, dying)}
    if {failure.rank for failure in found} <= dismissed:
        return []
    return [replace(one, victim=_is_victim(evidence, one) or one.rank in dismissed) for one in found]


def _without_a_word(evidence: Evidence, dying: list[RankEvidence], found: list[Failure]) -> list[Failure]:
    """Ranks of which nobody knows how they ended, where they left others behind."""
    if found and all(failure.victim for failure in found):
        return [failure for failure in map(_gone, dying) if failure]
    if any(rank.exit is None and _lives(rank) for rank in evidence.ranks):
        # its page would say that it had come to its end: without one nothing tells that it had not
        return [failure for rank in dying if rank.page is not None and (failure := _gone(rank))]
    return []


def _is_victim(evidence: Evidence, failure: Failure) -> bool:
    return failure.victim or _ended_by_launcher(evidence, failure)


def _from_outside(evidence: Evidence, judged: list[Failure]) -> list[Failure]:
    """If the first failure came from outside, all are consequences of that; no rank is to blame.

    A launcher is held back at the first failure until the others were seen, so what was alive then is no part of it.
    """
    first = min((f for f in judged if not f.victim), key=lambda failure: failure.time, default=None)
    if first is None:
        return judged
    by_launcher = first.died_by_signal and told_by_launcher(evidence, first) is not None
    if sent_before(evidence, first) or by_launcher or _together(evidence, judged, first):
        return [replace(failure, outside=True, victim=False) for failure in judged]
    seen = evidence.rank(first.rank)
    if first.died_by_signal and seen and seen.page and -(first.status or 0) in _SENT:
        return [replace(failure, outside=failure is first) for failure in judged]
    return judged


def sent_before(evidence: Evidence, failure: Failure) -> int | None:
    """The signal that `watch` was sent and passed on before this failure, if it explains it."""
    sent = evidence.end.sent if evidence.end else ()
    return _explaining((one.number for one in sent if one.time <= failure.time), failure.status or 0)


def sent_before_end(end: JobEnd) -> int | None:
    """The signal that `watch` was sent and passed on, if it explains the end of the command: a launcher may answer one
    with an abort, or with a status of its own."""
    return _explaining((one.number for one in end.sent), end.status)


def _explaining(numbers: Iterable[int], status: int) -> int | None:
    return next((number for number in numbers if number in _ENDS or status in (-number, 128 + number)), None)


def told_by_launcher(evidence: Evidence, failure: Failure) -> int | None:
    """The signal that its launcher had sent to the rank."""
    seen = evidence.rank(failure.rank)
    return seen.exit.told if seen and seen.exit else None


def _together(evidence: Evidence, judged: list[Failure], first: Failure) -> bool:
    """Whether several ranks had died of one signal when the first of them was noticed."""
    alike = [failure for failure in judged if failure.died_by_signal and failure.status == first.status]
    gone = [seen for failure in alike if (seen := evidence.rank(failure.rank)) and not _lives(seen)]
    return first in alike and len(gone) > 1 and first.status != ABORTED


def _all_uncovered(_: Evidence, victims: list[Failure]) -> list[Failure]:
    return [_uncovered(failure) for failure in victims]


def _with_hidden(evidence: Evidence, victims: list[Failure]) -> list[Failure]:
    """Together with ranks whose failure is only found when no other rank has a reason of its own."""
    known = {failure.rank for failure in victims}
    return [
        *victims,
        *(hidden for rank in evidence.ranks if rank.rank not in known and (hidden := _hidden(rank))),
    ]


def _first_to_blame(evidence: Evidence, victims: list[Failure]) -> list[Failure]:
    """If no other rank failed or left, the rank that lost a connection first is not a victim."""
    if _somebody_left(evidence):
        return victims
    first = min((f for f in victims if f.raised), key=lambda failure: failure.time, default=None)
    return [replace(failure, victim=failure is not first) for failure in victims]


def _uncovered(failure: Failure) -> Failure:
    """With the exception that the rank was handling when it lost its peer, if that one has another reason."""
    first = reason(failure.raised) if failure.raised else None
    if first is None or first is failure.raised:
        return failure
    return replace(failure, time=first.time, raised=first, victim=False, hidden=True)


def _somebody_left(evidence: Evidence) -> bool:
    """Whether a rank ended with status 0 or was not observed: it may be the peer that the others lost."""
    return len(evidence.unseen()) > 0 or any(rank.exit and rank.exit.status == 0 for rank in evidence.ranks)


def _gone(rank: RankEvidence) -> Failure | None:
    """The end of a rank of which nobody knows how it ended: a failure where it left others behind."""
    unknown = rank.exit is not None and rank.exit.status is None and _raised(rank) is None
    return Failure(rank.rank, rank.exit.time, None, None, False) if unknown and rank.exit else None


def _failure(rank: RankEvidence) -> Failure | None:
    status = rank.exit.status if rank.exit else None
    raised = _raised(rank)
    if raised is not None and raised.type not in ("SystemExit", "KeyboardInterrupt"):
        return Failure(rank.rank, raised.time, raised, status, is_peer_loss(raised))
    if rank.exit is not None and rank.exit.status:
        after_end = rank.exit.status < 0 and _came_to_its_end(rank)
        return Failure(rank.rank, rank.exit.time, None, rank.exit.status, False, after_end=after_end)
    return None


def _came_to_its_end(rank: RankEvidence) -> bool:
    """Whether its program ended without an exception, and without `sys.exit` of a failure."""
    page = rank.page
    return page is not None and page.leaving is None and page.ending is not None and page.ending.kind is EndKind.NORMAL


def _dismissed(rank: RankEvidence) -> bool:
    """Whether a framework's own process ended it, which native code in the rank does: nothing of Python's took part."""
    page = rank.page
    if page is None or page.ending is not None or page.leaving is not None or page.pending or rank.fatal:
        return False
    files = [frame.file for event in page.events[-1:] for frame in event.path]
    return rank.exit is not None and supervisors.ended(rank.exit.status, files)


def exit_site(rank: RankEvidence) -> Site | None:
    """Where the program called the `sys.exit` that ended it with a failure status; None if that is not known."""
    leaving = rank.page.leaving if rank.page else None
    status = rank.exit.status if rank.exit else None
    if leaving is None or rank.page is None or status is None or not (status > 0 or status == ABORTED):
        return None
    late = any(event.time > leaving.time for event in rank.page.events)
    return None if late else frames.innermost_user_frame(leaving.frames)


def _hidden(rank: RankEvidence) -> Failure | None:
    """The exception that the rank is still handling while its peers have already lost it: its `finally` takes time."""
    own = [raised for one in rank.page.pending if not is_peer_loss(raised := reason(one))] if rank.page else []
    first = min(own, key=lambda raised: raised.time, default=None)
    return Failure(rank.rank, first.time, first, None, False) if first else None


def _raised(rank: RankEvidence) -> Raised | None:
    """The exception that ended the process. One that is only being handled may still be caught."""
    if rank.page is None:
        return rank.raised
    ending = rank.page.ending
    return ending.raised if ending and ending.kind is EndKind.EXCEPTION else None


def _ended_by_launcher(evidence: Evidence, failure: Failure) -> bool:
    """Whether the launcher ended it: SIGTERM to the rest as soon as one rank has failed, SIGKILL to those that stay.

    Launchers see exits, not exceptions, after which an interpreter may take seconds to end.
    """
    if failure.raised is not None or failure.status not in _LAUNCHER_DELAY:
        return False
    exits = [one.exit.time for one in evidence.ranks if one.rank != failure.rank and one.exit and one.exit.status]
    return any(failure.time > time + _LAUNCHER_DELAY[failure.status] for time in exits)


def is_peer_loss(raised: Raised) -> bool:
    """Whether the exception says that another rank has gone, and not that this one has a fault."""
    plain = raised.type.rpartition(".")[2]
    return plain in _PEER_LOSS_TYPES and _PEER_LOSS.search(raised.message) is not None


def failure_site(rank: RankEvidence, failure: Failure) -> Site | None:
    """The user's innermost frame of the failure: from the traceback, else from the faulthandler file."""
    if failure.raised is not None:
        return raised_site(failure.raised)
    found = [Site(m["file"], int(m["line"]), m["function"]) for m in _FATAL_FRAME.finditer(rank.fatal)]
    site = frames.innermost_user_frame(found)
    events = rank.page.events if rank.page else ()
    site = site or exit_site(rank)
    return site or next((event.site for event in reversed(events) if event.site), None)


_FRAME = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)$', re.MULTILINE)


def raised_site(raised: Raised) -> Site | None:
    """The user's innermost frame of an exception; if a data worker raised it, the line in the worker."""
    if torch_internals.RETOLD.pattern.match(raised.message):
        inner = [Site(m["file"], int(m["line"]), m["function"]) for m in _FRAME.finditer(raised.message)]
        if own := frames.own_frames(reversed(inner)):
            return own[0]
    return frames.innermost_user_frame(raised.frames)


def said(raised: Raised) -> str:
    """The exception's message in one line, "" if it has none; for a data worker's exception, the worker's message."""
    lines = raised.message.strip().splitlines()
    match = torch_internals.RETOLD.pattern.match(raised.message)
    if match and len(lines) > 2:
        words = lines[-1].strip().removeprefix(f"{match['type']}: ")
        return f"{words[:160]} ({match['where']})"
    return lines[0][:160] if lines else ""


def model_differs(failure: Failure) -> bool:
    """Whether DistributedDataParallel found that the ranks' models differ."""
    return failure.raised is not None and torch_internals.MODEL_DIFFERS.is_in(failure.raised.message)


def model_sizes(failures: Iterable[Failure]) -> dict[Rank, int]:
    """Parameters of the ranks' models, as DistributedDataParallel has counted them; empty if it names one rank only. A
    rank that may have died, which it counts as 0, is left out."""
    found: dict[Rank, int] = {}
    for failure in failures:
        told = torch_internals.MODEL_SIZES.pattern.search(failure.raised.message) if failure.raised else None
        if told:
            found |= {Rank(int(told[1])): int(told[2]), Rank(int(told[3])): int(told[4])}
    counted = {rank: number for rank, number in found.items() if number}
    return counted if len(counted) > 1 else {}


def sizes_differ(failure: Failure) -> tuple[int, int] | None:
    """(received, expected) bytes where gloo ended the rank because another rank's operation was larger than its own."""
    found = torch_internals.SIZES_DIFFER.pattern.search(failure.raised.message) if failure.raised else None
    return (int(found[1]), int(found[2])) if found else None


#: exceptions of the connection to a data worker that ends while it hands over a batch
_CUT_OFF = frozenset({"ConnectionResetError", "ConnectionRefusedError", "BrokenPipeError", "EOFError"})


def not_passed(failure: Failure) -> tuple[Rank, ...]:
    """The ranks that did not reach a monitored barrier in time, as torch's message on rank 0 names them."""
    found = torch_internals.NOT_PASSED.pattern.search(failure.raised.message) if failure.raised else None
    return tuple(Rank(int(number)) for number in re.findall(r"\d+", found[1])) if found else ()


def lost_data_worker(failure: Failure) -> bool:
    """Whether the rank's DataLoader noticed that one of its workers is gone."""
    said = failure.raised is not None and torch_internals.LOST_WORKER.is_in(failure.raised.message)
    return said or cut_off_data_worker(failure)


def cut_off_data_worker(failure: Failure) -> bool:
    """Whether the connection to a data worker broke while a batch was fetched through it."""
    raised = failure.raised
    if raised is None or raised.type not in _CUT_OFF or not raised.frames:
        return False
    loader = frames.are_in(raised.frames, torch_internals.Meaning.LOADS)
    return loader and "/multiprocessing/" in raised.frames[0].file


def raised_by_join(failure: Failure) -> bool:
    """Whether torch's own code raised it where a block under Join ends, in which a rank without data takes part in the
    collectives of the others: they did not make those that it expects."""
    raised = failure.raised
    inner = itertools.takewhile(lambda frame: frames.is_torch(frame.file), raised.frames) if raised else ()
    return frames.are_in(inner, torch_internals.Meaning.JOINS)


class FailureKind(Enum):
    """What a failure says about its own cause."""

    #: gloo received an operation of another size
    SIZES_DIFFER = "sizes differ"
    #: the rank lost another rank, or waited too long for one
    LOST_PEER = "lost a peer"
    MODEL_DIFFERS = "model differs"
    LOST_DATA_WORKER = "lost a data worker"
    RAISED_BY_JOIN = "raised by Join"
    #: as gloo ends a rank whose operations do not match
    ABORTED = "aborted"
    OTHER = "other"


def kind_of(failure: Failure) -> FailureKind:
    if sizes_differ(failure):
        return FailureKind.SIZES_DIFFER
    if failure.raised is not None and is_peer_loss(failure.raised):
        return FailureKind.LOST_PEER
    if model_differs(failure):
        return FailureKind.MODEL_DIFFERS
    if lost_data_worker(failure):
        return FailureKind.LOST_DATA_WORKER
    if raised_by_join(failure):
        return FailureKind.RAISED_BY_JOIN
    return FailureKind.ABORTED if failure.amid_mismatch else FailureKind.OTHER
