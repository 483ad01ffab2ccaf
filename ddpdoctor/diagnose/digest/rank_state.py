"""The state of each rank: waiting, working, stopped, blocked, gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ddpdoctor.diagnose.digest import child_threads, frames, helper_threads
from ddpdoctor.diagnose.digest.file_polling import polled_file
from ddpdoctor.diagnose.digest.rendezvous import makes_store
from ddpdoctor.diagnose.digest.waits import Wait, uses_processor
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.stacks import Site, Thread
from ddpdoctor.model.torch_internals import Meaning, shows
from ddpdoctor.program.program import Program

#: signals that end processes, by Linux's numbers (signal(7)), because a report may be read on another system
_SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    15: "SIGTERM",
    24: "SIGXCPU",
}
#: Age of a heartbeat at which it counts as lost, in seconds; it is written once a second.
HEARTBEAT_LOST_SECONDS = 4.0
#: Bytes per second that count as I/O of the job: more than the probe itself moves.
BUSY_IO_BYTES = 65536


class Activity(Enum):
    WAITING = "waiting"
    WORKING = "working"
    STOPPED = "stopped"
    #: alive, in no known wait, and without any activity
    STILL = "still"
    EXITED = "exited"
    #: one sample cannot distinguish working from blocked
    UNKNOWN = "unknown"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class RankState:
    """One rank's activity, its position, and a short label for it."""

    activity: Activity
    #: innermost frame that the user wrote, else the last call site of the history
    site: Site | None
    label: str
    #: the heartbeat stopped while the process is not stopped: some call holds the interpreter's lock
    holds_gil: bool = False
    #: it works in so far as it will wake by itself: its main thread, a child's, or one of its own that it waits for,
    #: sleeps for a fixed time at `site`
    naps: bool = False
    #: the thread that trained has ended, and the process lives on: a framework ran the job's function in it
    returned: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """What is the same for all ranks of one look."""

    #: when the last samples were taken, CLOCK_MONOTONIC seconds
    now: float
    #: the job's source, which tells what a sleeping loop waits for
    program: Program
    #: the installed packages that the job runs rather than uses
    own: frozenset[str]
    #: someone reports that the job hangs, so an idle rank seen in only one sample counts as blocked
    reported_hanging: bool = False


def judge_rank(rank: RankEvidence | None, wait: Wait | None, look: Look) -> RankState:
    """Judge one rank."""
    if rank is None:
        return RankState(Activity.UNSEEN, None, "not seen")
    if gone := _gone(rank):
        return gone
    site = _site(rank, wait)
    state = rank.process.state if rank.process else ""
    if state == "T":
        return RankState(Activity.STOPPED, site, "stopped by a signal")
    if wait is not None:
        inner = wait.site if wait.site and not (site and frames.is_library(wait.site.file, look.own)) else site
        return RankState(Activity.WAITING, inner, wait_label(wait))
    # it connects again and again, with a short sleep in between: that is no work of the program
    if rank.motion is not None and makes_store(look.program, rank):
        return RankState(Activity.STILL, site, "making the store of the rendezvous")
    silent = rank.page is not None and look.now - rank.page.heartbeat > HEARTBEAT_LOST_SECONDS
    if _moves(rank):
        what = "a call that holds the interpreter's lock" if silent else _activity_words(rank)
        return RankState(Activity.WORKING, site, f"working in {what}", holds_gil=silent)
    if not (rank.stacks or rank.page or rank.process):
        return RankState(Activity.UNKNOWN, site, "in code that nothing shows")
    if rank.motion is None and not (look.reported_hanging and _idle(rank)):
        return RankState(Activity.UNKNOWN, site, "in no known wait")
    return _at_rest(rank, site, look, silent=silent)


def _at_rest(rank: RankEvidence, site: Site | None, look: Look, *, silent: bool) -> RankState:
    """The state of a rank that has not moved: it sleeps for a fixed time, or nobody knows for what."""
    napping = next((place for place in _naps(rank, look) if not polled_file(look.program, place)), None)
    if napping is not None:
        return RankState(Activity.WORKING, napping, f"asleep in {napping.function}", naps=True)
    place = f"idle in {site.function}" if site else "idle"
    return RankState(Activity.STILL, site, place, holds_gil=silent)


def _gone(rank: RankEvidence) -> RankState | None:
    """The state of a rank whose process, or whose thread that trained, has ended."""
    if rank.exit is not None:
        # it may have lived when it was looked at: its launcher has ended it since
        return RankState(Activity.EXITED, _site(rank, None), _exit_label(rank.exit.status))
    threads = {state.os_id for state in rank.process.threads} if rank.process else set()
    if threads and rank.thread != rank.worker.pid and rank.thread not in threads:
        return RankState(Activity.EXITED, _last_site(rank), "done: its training function returned", returned=True)
    return None


def _naps(rank: RankEvidence, look: Look) -> Iterator[Site]:
    """The user's lines in which its main thread, one that does a child's work, or one that it waits for sleeps for a
    fixed time.

    A library that sleeps polls for something, most often for a lock, and is not counted; neither are data workers that
    are told to end.
    """
    main = frames.main_thread(rank)
    ends = main is not None and any(shows(one.file, one.function, Meaning.ENDS_WORKERS) for one in main.frames)
    children = (
        (one.worker.pid, one.process, one.motion, thread)
        if one.stacks and thread is one.stacks.main()
        else (thread.os_id, one.process, None, thread)
        for one in rank.children
        if not ends
        for thread in child_threads.at_work(look.program, one, look.own)
    )
    helpers = ((thread.os_id, rank.process, None, thread) for thread in helper_threads.awaited(look.program, rank))
    for os_id, process, motion, thread in ((rank.thread, rank.process, rank.motion, main), *children, *helpers):
        state = process.thread(os_id) if process else None
        if state and state.naps_on(motion) and thread and thread.frames and _in_own_code(thread, look):
            yield thread.frames[0]


def _in_own_code(thread: Thread, look: Look) -> bool:
    """Whether the thread is in a line of the job, or in one of what `python -c` was given."""
    now, outermost = thread.frames[0].file, thread.frames[-1].file
    return now == outermost == "<string>" or not frames.is_library(now, look.own)


def _idle(rank: RankEvidence) -> bool:
    """Whether the main thread was off the core in the one sample, as far as the source of the stacks can tell."""
    main = frames.main_thread(rank)
    return main is not None and len(main.frames) > 0 and main.active is not Observed.YES


def wait_label(wait: Wait) -> str:
    """`all_reduce seq 8`, `recv from rank 1`."""
    if wait.kind is Kind.RECV:
        return f"{wait.op} from rank {wait.peer}" if wait.peer is not None else f"{wait.op} from any rank"
    if wait.kind is Kind.SEND:
        return f"{wait.op} to rank {wait.peer}"
    return f"{wait.op} seq {wait.seq}" if wait.seq is not None else wait.op


def _exit_label(status: int | None) -> str:
    if status is None:
        return "ended"
    if status >= 0:
        return f"exit status {status}"
    return f"ended by {_SIGNALS.get(-status, f'signal {-status}')}"


def _moves(rank: RankEvidence) -> bool:
    # on a busy machine a compiler's short processes may get no measurable time in a look, but they come and go
    if rank.motion is not None and rank.motion.children_changed:
        return True
    motions = [(rank.process, rank.motion), *((child.process, child.motion) for child in rank.children)]
    return any(
        motion is not None
        and (
            uses_processor(process, motion)
            or motion.lines_moved is Observed.YES
            or motion.page_moved is Observed.YES
            or motion.io_rate >= BUSY_IO_BYTES
            or motion.main_io_bytes > 0
        )
        for process, motion in motions
    )


def _activity_words(rank: RankEvidence) -> str:
    main = frames.main_thread(rank)
    site = frames.innermost_user_frame(main.frames) if main else None
    return site.function if site else "code that no stack shows"


def _site(rank: RankEvidence, wait: Wait | None) -> Site | None:
    main = frames.main_thread(rank)
    site = frames.innermost_user_frame(main.frames) if main else None
    return site or (wait.site if wait else None) or _last_site(rank)


def _last_site(rank: RankEvidence) -> Site | None:
    """The newest place in user code in the history."""
    events = rank.page.events if rank.page else ()
    return next((event.site for event in reversed(events) if event.site), None)
