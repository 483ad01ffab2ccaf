"""Impure. Follows a running job: reads its pages, asks the clocks, examines it, and passes verdicts on."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ddpdoctor.collect import missing_page, noted_stacks, procfs
from ddpdoctor.collect.capture import Sample
from ddpdoctor.collect.exits import EXITS, read_exits
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.launch import discovery
from ddpdoctor.meeting.episode import UNSEEN, Conclude
from ddpdoctor.meeting.joint import gaps_of
from ddpdoctor.meeting.meeting import Meeting
from ddpdoctor.meeting.messages import Absent, Why
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.early_sign import EarlySign
from ddpdoctor.model.evidence import Gap
from ddpdoctor.model.processes import Exit, JobEnd, Sent
from ddpdoctor.model.ranks import RankSet, Role, Worker
from ddpdoctor.model.report import Report
from ddpdoctor.model.waited import Waited
from ddpdoctor.observe import pace, stall
from ddpdoctor.observe.delegate import Eyes
from ddpdoctor.observe.early import Early
from ddpdoctor.observe.inspector import Inspector, Verdict, needs_no_patience
from ddpdoctor.observe.pace import Pace
from ddpdoctor.observe.page_poller import PagePoller
from ddpdoctor.observe.stall import Decision, Progress
from ddpdoctor.observe.stopping import grounds
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.worker_exits import ENDING, STANDING

#: seconds between readings of the pages
READING = 0.5
#: seconds between those of a job that goes on as it did before: its ranks have more use for the processor, and a
#: deadlock is looked for no sooner than `stall.PROOF_AFTER`
CALM = 2.0
#: events on a page, of one reading, up to which the page has room for those until a later one
MOST_ROWS = layout.EVENT_ROWS // 8
#: seconds between searches for processes: until ranks exist, while they have no pages, and afterwards, when only
#: children and restarts can be new (a new page or an examination starts a search too)
SEARCHING_FOR_RANKS, SEARCHING_FOR_PAGES, SEARCHING = 1.0, 3.0, 15.0
#: seconds for examining the survivors while their launcher waits (it waits 2)
LAST_LOOK = 1.5
#: seconds before the end in which a job that stood may move: exceptions of what ends it are no progress
LAST_STIR = 3.0
#: seconds that a watcher whose job has failed waits for the verdict of all nodes, and between two steps of a meeting
LAST_MEETING, MEETING_STEP = 5.0, 0.05
#: seconds from the start of our ranks in which those of other nodes may still be loading what they import
BEGINNING = 60.0
#: seconds for which a launcher is held back until all nodes have looked (it waits 2 from the failure on)
HELD_BACK = 1.5
#: seconds between searches for processes that have torch without the probe, as long as no rank is seen
SEEKING_UNPROBED = 10.0


@dataclass(frozen=True, slots=True)
class _LastSight:
    """What was seen when a rank failed, before the launcher ended the others."""

    sample: Sample
    moved: float
    #: on the clock of Worker.started: processes that started later belong to a restarted job
    started_before: float


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a job while it ran."""

    ranks: int
    #: the most optimizer steps of any rank
    steps: int
    #: whether some rank has made its default process group
    group: bool
    #: CLOCK_MONOTONIC seconds of the last movement of any rank
    moved: float = 0.0
    pace: Pace = field(default_factory=Pace)
    #: who waited for whom, None if no ranks met
    waited: Waited | None = None


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Called with every verdict worth reporting, with one that a later look has confirmed, with the verdict on an
    attempt after which the launcher has started the ranks again, with the CLOCK_MONOTONIC time when a reported job
    resumed, with the look at a job that stood still when its launcher was told to end it, and with what other nodes
    a job that stands still has lost; `looked` is called with a look that was asked for.
    """

    verdict: Callable[[Verdict], None]
    confirmed: Callable[[Verdict], None]
    restarted: Callable[[Verdict], None]
    resumed: Callable[[float], None]
    ending: Callable[[Verdict], None]
    lost: Callable[[str], None]
    looked: Callable[[Verdict], None]
    #: with a sign that loops over a loader will not end together
    sign: Callable[[EarlySign], None] | None = None
    #: with the warning that ranks have shifted against each other; None if nobody wants to know
    desync: Callable[[Verdict], None] | None = None
    #: with why no rank may be seen of a job that has processes with torch; None if nobody wants to know
    unprobed: Callable[[Gap], None] | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """How a job is watched."""

    #: seconds without progress that count as a stall, None to learn it from the run
    stall_after: float | None = None
    #: whether the probe is in the ranks
    probe: bool = True
    #: whether a job that hangs is stopped here
    stops: bool = False
    #: a folder in which the watchers of several nodes meet, None to meet in the job's own store
    shared: Path | None = None


class Watcher:
    """The watcher of one job. `tick` is called several times a second."""

    def __init__(
        self,
        inspector: Inspector,
        pid: int,
        callbacks: Callbacks,
        policy: Policy,
    ) -> None:
        """`pid` is the job's first process."""
        self._eyes = Eyes(inspector, os.uname().nodename, self._find, stops=policy.stops)
        self._meeting = Meeting(inspector.run, self._eyes, policy.shared)
        #: what was said to be lost, and the last movement then
        self._said_lost: set[str] = set()
        self._lost_at: float | None = None
        #: the rank whose launcher waits until all nodes have looked, and until when
        self._held_back: tuple[int, float] | None = None
        #: somebody here has asked for a look, and waits for it
        self._asked = False
        #: the verdict of all nodes on a failure of this attempt
        self._joint_end: Verdict | None = None
        self._inspector = inspector
        self._pid = pid
        self._stall_after = policy.stall_after
        self._callbacks = callbacks
        self._discovery = discovery.Discovery(inspector.run)
        self._pages = PagePoller(inspector.run)
        self._early = Early(inspector)
        self._progress = Progress(started=inspector.started, moved=inspector.started, blind=not policy.probe)
        self._pace = Pace()
        self._known: dict[tuple[int, float], Worker] = {}
        self._searched = self._read = 0.0
        #: seconds until the next reading
        self._pause = READING
        self._last_passed_on: tuple[object, ...] = ()
        #: the last sample of the look that made the reported verdict; the next look is compared with it
        self._reported_sample: Sample | None = None
        #: when processes without the probe were last looked for, and whether one was told
        self._sought = inspector.started
        self._told_unprobed = False
        self._exits_seen = 0
        #: the file of exits, and its size when it was last read
        self._exits, self._exits_size = inspector.run / EXITS, 0
        self._last_sight: _LastSight | None = None
        #: ranks of the present attempt were started after this, None for the first; on the clock of Worker.started
        self._restarted_after: float | None = None
        #: what the job stood in when it was last looked at, and the first movement after that
        self._stood_in: Verdict | None = None
        self._stirred: float | None = None
        self._noted_standing = False
        #: last sights of attempts after which the launcher has started the ranks again, with the verdict of all nodes
        self._failed_attempts: list[tuple[_LastSight, Verdict | None]] = []

    @property
    def run(self) -> Path:
        return self._inspector.run

    def tick(self, now: float) -> None:
        """Do what is due at `now` (CLOCK_MONOTONIC)."""
        self._examine_survivors()
        self._look_before_the_end(now)
        self._tell_failed_attempts()
        self._meet(now)
        if now - self._read < self._pause:
            return
        self._read = now
        if now - self._searched >= self._search_pause() or self._discovery.changed():
            self._search()
            self._notice_restart()
        if not self._has_ranks():
            self._tell_unprobed(now)
            return
        self._take_pulse()
        self._note_standing(now)
        self._early.read(self._workers())
        self._pause = CALM if self._is_calm(now) else READING
        self._tell_signs(now)
        self._warn_of_a_desync(now)
        self._decide(now)

    @property
    def calm(self) -> bool:
        """Whether nothing has to be done soon."""
        return self._pause == CALM

    def _is_calm(self, now: float) -> bool:
        """Whether the job goes on as it did, and leaves room on its pages for what it does until later."""
        early = self._early
        return stall.goes_on(self._progress, now) and early.most_rows <= MOST_ROWS and not early.looks

    def _tell_unprobed(self, now: float) -> None:
        """Say once why a job seems to have no ranks, if its processes show why."""
        if self._callbacks.unprobed is None or self._told_unprobed or now - self._sought < SEEKING_UNPROBED:
            return
        self._sought = now
        gap = missing_page.unprobed_gap(self._workers())
        if gap is not None:
            self._told_unprobed = True
            self._callbacks.unprobed(gap)

    def _decide(self, now: float) -> None:
        """Look at the job if its clocks say so, or let all nodes look."""
        match stall.decide(self._progress, now, self._stall_after):
            case Decision.RESUMED:
                self._callbacks.resumed(self._progress.moved)
                self._progress, self._last_passed_on = stall.resumed(self._progress), ()
                self._reported_sample = None
            case Decision.PROVE if self._meets(Why.STILL):
                self._progress = stall.proof_failed(self._progress, now)
            case Decision.STALLED if self._meets(Why.STALLED):
                pass
            case Decision.PROVE:
                self._prove()
            case Decision.STALLED:
                self._look_at_a_stall()
            case Decision.KEEP:
                self._look_at_parts(now)

    def _look_at_a_stall(self) -> None:
        """Pass on what is seen here, unless the job moves while it is looked at, or turns out to have other nodes: its
        ranks may have been about to begin."""
        spanned, moved = self._meeting.spans, self._progress.moved
        verdict = self.examine()
        self._take_pulse()
        if self._progress.moved == moved and self._meeting.spans == spanned:
            self._pass_on(self._without(verdict))

    def _look_at_parts(self, now: float) -> None:
        """Try to prove that some threads can never go on, although the job moves."""
        threads = None if self._progress.reported is not None else self._early.part(self._workers(), now)
        if threads is None:
            return
        self._search()
        verdict = self._early.proof(self._workers(), self._progress.moved, threads)
        if verdict is not None and (essence := _essence(verdict.report)) != self._last_passed_on:
            self._last_passed_on = essence
            self._callbacks.verdict(self._early.with_course(self._without(verdict)))

    def _tell_signs(self, now: float) -> None:
        if self._callbacks.sign is not None:
            for sign in self._early.signs(self._workers(), now):
                self._callbacks.sign(sign)

    def _warn_of_a_desync(self, now: float) -> None:
        if self._callbacks.desync is None or self._progress.reported is not None:
            return
        warning = self._early.desync(self._workers(), now, self._progress.moved)
        if warning is not None:
            self._callbacks.desync(self._without(warning))

    def _prove(self) -> None:
        """Prove a deadlock from what is seen here."""
        self._search()
        found = self._inspector.prove(self._workers(), self._progress.moved)
        self._progress = stall.proof_failed(self._progress, time.monotonic())
        if found is not None and needs_no_patience(found.report):
            self._pass_on(found)
        elif found is not None and found.report.outcome is Outcome.HANG:
            self._stood_in, self._stirred = found, None

    @property
    def meets(self) -> bool:
        """Whether a meeting with the watchers of other nodes goes on."""
        return self._meeting.meets

    def leave(self) -> None:
        """The watchers of other nodes will hear nothing more."""
        self._meeting.close()

    def _meets(self, why: Why) -> bool:
        """Whether all nodes are asked for a verdict; not if this one sees the whole job, or cannot ask."""
        if not self._meeting.spans or not self._lives():
            return False
        if self._meeting.meets or self._meeting.want(why):
            return True
        if self._progress.taught or why is Why.STALLED:
            self._tell_lost((self._meeting.obstacle,))
        return False

    def _meet(self, now: float) -> None:
        """Take the next step of a meeting, if there is one."""
        if not self._meeting.spans:
            return
        self._eyes.workers, self._eyes.moved = self._workers(), self._progress.moved
        self._eyes.sight = self._last_sight.sample if self._last_sight else None
        self._eyes.hosts = self._meeting.hosts()
        ranks = {w.rank for w in self._workers() if w.role is Role.RANK and w.rank is not None}
        concluded = self._meeting.tick(now, RankSet.of(ranks))
        if concluded is not None:
            self._conclude(concluded)
        if self._held_back is not None and (not self._meeting.meets or now > self._held_back[1]):
            (self.run / f"looked.{self._held_back[0]}").touch()
            self._held_back = None
        if self._lost_at is not None and self._progress.moved - self._lost_at > stall.SETTLING:
            self._said_lost, self._lost_at = set(), None
            self._callbacks.resumed(self._progress.moved)

    def _conclude(self, end: Conclude) -> None:
        """What comes of a meeting: the verdict of all, or that there is none."""
        early = self._others_may_come(end.absent)
        standing = not early and self._lives() and time.monotonic() - self._progress.moved >= stall.PROOF_AFTER
        # a job that has not begun to train often stands for a moment, and not everybody is there yet
        if standing and (end.why is Why.STALLED or (end.why is Why.STILL and self._progress.taught)):
            self._tell_lost([end.over] if end.cut else [str(one) for one in end.absent])
        verdict = None
        if end.verdict is not None:
            with contextlib.suppress(ValueError):
                verdict = self._eyes.verdict(end.verdict)
        if self._asked and end.why is not Why.STILL:
            self._asked = False
            self._callbacks.looked(verdict or self._without(self.examine(), end.absent))
        elif early and end.why is Why.STALLED:
            self._progress = stall.cleared(self._progress, time.monotonic())
        elif end.why is not Why.LOOK:
            self._take_verdict(end, verdict, standing=standing)

    def _others_may_come(self, absent: tuple[Absent, ...]) -> bool:
        """Whether ranks that nobody has seen may be about to begin: ours have begun a moment ago, and none has made a
        step of training."""
        began = max((worker.started for worker in self._workers() if worker.role is Role.RANK), default=0.0)
        unseen = any(one.reason == UNSEEN for one in absent)
        return unseen and not self._progress.taught and discovery.now() - began < BEGINNING

    def _take_verdict(self, end: Conclude, verdict: Verdict | None, *, standing: bool) -> None:
        """Act on what nobody here has asked for."""
        if verdict is None:
            if end.why is Why.STALLED and standing:
                self._pass_on(self._without(self.examine(), end.absent))
        elif verdict.report.outcome is Outcome.CRASH:
            self._joint_end = verdict
        elif end.why is Why.STALLED or needs_no_patience(verdict.report):
            self._pass_on(verdict)
        elif verdict.report.outcome is Outcome.HANG:
            self._stood_in, self._stirred = verdict, None

    def _tell_lost(self, lost: Iterable[str]) -> None:
        for one in lost:
            if one and one not in self._said_lost:
                self._said_lost.add(one)
                self._lost_at = self._progress.moved
                self._callbacks.lost(one)

    def _without(self, verdict: Verdict, absent: tuple[Absent, ...] = ()) -> Verdict:
        """A verdict on our own ranks, with who else there is."""
        ranks = RankSet.of(rank.rank for rank in verdict.report.ranks if rank.state != Activity.UNSEEN.value)
        gaps = gaps_of(absent or self._meeting.others(ranks))
        return dataclasses.replace(
            verdict, report=dataclasses.replace(verdict.report, gaps=(*verdict.report.gaps, *gaps))
        )

    def seen(self) -> Seen:
        """What was seen so far."""
        ranks = {worker.rank for worker in self._workers() if worker.role is Role.RANK}
        grouped = self._progress.group_timeout is not None
        return Seen(len(ranks), self._progress.steps, grouped, self._progress.moved, self._pace, self._early.waited())

    def groups(self) -> tuple[int, bool]:
        """The number of process groups that were seen, and whether these are all, for the end of the job."""
        found, whole = self._pages.groups(self._workers())
        return len(found), whole

    def stands_still(self, now: float) -> bool:
        """Whether nothing has moved for a while and nothing was reported of it: a look before the end is worth it."""
        return self._has_ranks() and stall.stands_still(self._progress, now)

    def examine(self, *, within: float | None = None) -> Verdict:
        """Examine the job now, whatever the clocks say; `within`: seconds for all samples."""
        self._search()
        since = self._reported_sample
        verdict = self._inspector.examine(self._workers(), self._progress.moved, since=since, within=within)
        return self._early.with_course(verdict)

    def look(self) -> None:
        """Examine the job now, on all its nodes; the verdict is passed on when it is there."""
        self._asked = self._meets(Why.LOOK)
        if not self._asked:
            self._callbacks.looked(self._without(self.examine()))

    def last_look(self) -> Verdict:
        """Examine the job now, quickly, because it is about to be ended."""
        if self._meeting.spans and self._stood_in is not None and self._stirred is None:
            verdict = self._stood_in  # of all nodes, a moment ago
        else:
            verdict = self._with_standing(self._without(self.examine(within=LAST_LOOK)))
        self._progress = stall.reported(self._progress, time.monotonic())
        self._note_standing(time.monotonic())
        return verdict

    def close(self, own: Exit, sent: tuple[Sent, ...] = ()) -> Verdict | None:
        """The verdict on a job that has ended, with what was seen while it ran; see `_at_the_end`."""
        self._early.read(self._workers())
        verdict = self._at_the_end(own, sent)
        return self._early.with_course(verdict) if verdict else None

    def _at_the_end(self, own: Exit, sent: tuple[Sent, ...] = ()) -> Verdict | None:
        """The verdict on a job that has ended: from its last failure as it was seen, or else from its last pages.

        `own` is the exit of the supervisor's child, which nobody else has recorded; that child may be a rank itself.
        `sent` are the signals that were passed on to it.
        """
        self._search()
        self._take_pulse()
        self._notice_restart()
        self._tell_failed_attempts()
        if not self._has_ranks():
            return None
        if own.status != 0:
            self._await_meeting()
        exits = (own,) if any(w.pid == own.pid and w.role is Role.RANK for w in self._workers()) else ()
        end = JobEnd(own.status or 0, sent)
        sight, moved = self._last_sight, self._progress.moved
        if self._joint_end is not None:
            return self._with_standing(self._joint_end)
        if sight is not None:
            last = self._inspector.examine_samples((sight.sample,), sight.moved, exits, end)
            return self._with_standing(self._without(last))
        sample = self._inspector.sample(self._workers())
        return self._with_standing(self._without(self._inspector.examine_samples((sample,), moved, exits, end)))

    def _await_meeting(self) -> None:
        """Let a meeting on the failure come to its end, which is near: the job's store ends with the job."""
        deadline = time.monotonic() + LAST_MEETING
        while self._meeting.meets and time.monotonic() < deadline:
            self._meet(time.monotonic())
            time.sleep(MEETING_STEP)

    def _with_standing(self, last: Verdict) -> Verdict:
        """The last verdict, or what the job stood in before if nobody in it is to blame for its end."""
        before, first = self._standing(), next(iter(last.report.diagnoses), None)
        if before is None or last.report.outcome is not Outcome.CRASH:
            return last
        if first is not None and first.culprits:
            stood = next(iter(before.report.diagnoses), None)
            return _noted(last, f"before, the job stood still: {stood.code}: {stood.summary}" if stood else "")
        return _noted(before, f"the job stood still until its end: {first.summary}" if first else "")

    def _standing(self) -> Verdict | None:
        """What the job stood in when it was last looked at, unless it has moved on since then or that was reported."""
        if self._progress.reported is not None:
            return None
        ended = self._last_sight.sample.time if self._last_sight else time.monotonic()
        moved_on = self._stirred is not None and ended - self._stirred > LAST_STIR
        return None if moved_on else self._stood_in

    def _note_standing(self, now: float) -> None:
        """Tell the probe in the launcher whether a look is worth waiting for."""
        stands = self.stands_still(now)
        if stands != self._noted_standing:
            self._noted_standing = stands
            with contextlib.suppress(OSError):
                if stands:
                    (self.run / STANDING).touch()
                else:
                    (self.run / STANDING).unlink(missing_ok=True)

    def _look_before_the_end(self, now: float) -> None:
        """The launcher of a job that stands still is about to end its ranks, and waits for a look."""
        if not self._noted_standing or not (self.run / ENDING).exists():
            return
        verdict = self.last_look() if self.stands_still(now) else None
        (self.run / ENDING).unlink(missing_ok=True)
        for pid in (self._pid, *(worker.pid for worker in self._workers() if worker.role is Role.LAUNCHER)):
            (self.run / f"looked.{pid}").touch()
        if verdict is not None and verdict.report.outcome is not Outcome.HEALTHY:
            self._callbacks.ending(verdict)

    def _workers(self) -> tuple[Worker, ...]:
        return tuple(self._known.values())

    def _has_ranks(self) -> bool:
        return any(worker.role is Role.RANK for worker in self._known.values())

    def _lives(self) -> bool:
        """Whether a rank of ours runs."""
        return any(worker.role is Role.RANK and procfs.runs(worker.pid) for worker in self._known.values())

    def _search_pause(self) -> float:
        if not self._has_ranks():
            return SEARCHING_FOR_RANKS
        return SEARCHING if self._progress.paged else SEARCHING_FOR_PAGES

    def _find(self) -> tuple[Worker, ...]:
        self._search()
        return self._workers()

    def _search(self) -> None:
        """Ranks stay known after they have ended, because their pages outlive them, until others have their places;
        children only while they are alive."""
        self._searched = time.monotonic()
        noted_stacks.forget(self.run, self._searched)
        found = {(w.pid, w.started): w for w in self._discovery.find(self._pid)}
        gone = (worker for key, worker in self._known.items() if worker.role is Role.RANK and key not in found)
        kept = discovery.not_replaced(gone, found.values())
        self._known = {(worker.pid, worker.started): worker for worker in kept} | found

    def _take_pulse(self) -> None:
        before = self._progress.moved
        pulse = self._pages.pulse(self._workers(), before)
        self._progress = stall.advance(self._progress, pulse)
        self._pace = pace.advance(self._pace, pulse.time, pulse.heads)
        if self._stirred is None and self._progress.moved > before:
            self._stirred = self._progress.moved

    def _examine_survivors(self) -> None:
        """After a rank has failed, examine the others before their launcher ends them, then let it continue."""
        size = _size(self._exits)
        if size == self._exits_size:
            return
        self._exits_size = size
        exits = read_exits(self.run)
        fresh, self._exits_seen = exits[self._exits_seen :], len(exits)
        for ended in fresh:
            if ended.status != 0 and self._is_first_failure(ended):
                self._search()
                self._take_pulse()
                sample = self._inspector.sample(self._workers(), deadline=LAST_LOOK)
                self._last_sight = _LastSight(sample, self._progress.moved, discovery.now())
                if self._meeting.spans and self._meeting.want(Why.FAILURE):
                    # the job's store ends soon after the launcher goes on
                    self._held_back = ended.pid, time.monotonic() + HELD_BACK
                    continue
            (self.run / f"looked.{ended.pid}").touch()

    def _is_first_failure(self, ended: Exit) -> bool:
        """Whether this is the first failure of the job, or of the job as restarted by its launcher. What the launcher
        ended of the attempt before may be told late."""
        if self._last_sight is not None or self._restarted_after is not None:
            self._search()
            self._notice_restart()
        if self._last_sight is not None or self._restarted_after is None:
            return self._last_sight is None
        return any(w.pid == ended.pid and w.started > self._restarted_after for w in self._workers())

    def _notice_restart(self) -> None:
        """An attempt has failed once the launcher has started new ranks: the job recovers, or fails again."""
        sight = self._last_sight
        if sight and any(w.role is Role.RANK and w.started > sight.started_before for w in self._workers()):
            self._failed_attempts.append((sight, self._joint_end))
            self._joint_end = None
            self._last_sight, self._restarted_after = None, sight.started_before

    def _tell_failed_attempts(self) -> None:
        """Pass on the verdicts on attempts that have failed; not while a launcher waits for a look at the next one."""
        failed, self._failed_attempts = self._failed_attempts, []
        for sight, joint in failed:
            if joint is None:
                joint = self._without(self._inspector.examine_samples((sight.sample,), sight.moved))
            self._callbacks.restarted(joint)

    def _pass_on(self, verdict: Verdict) -> None:
        """Pass a verdict on once: an equal one at the next examination confirms it."""
        now, report = time.monotonic(), verdict.report
        if report.outcome is Outcome.HEALTHY:
            # what is found again after this confirms nothing: the job moved in between
            self._progress, self._last_passed_on = stall.cleared(self._progress, now), ()
            return
        self._progress = stall.reported(self._progress, now)
        self._reported_sample = verdict.capture.samples[-1]
        essence = _essence(report)
        again, self._last_passed_on = essence == self._last_passed_on, essence
        (self._callbacks.confirmed if again else self._callbacks.verdict)(self._early.with_course(verdict))


def _size(path: Path) -> int:
    """Bytes of a file, 0 of none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _essence(report: Report) -> tuple[object, ...]:
    """What makes a verdict another one."""
    return report.outcome, grounds(report), tuple((d.code, d.culprits) for d in report.diagnoses[:1])


def _noted(verdict: Verdict, note: str) -> Verdict:
    if not note:
        return verdict
    report = verdict.report
    return dataclasses.replace(verdict, report=dataclasses.replace(report, notes=(*report.notes, note)))
