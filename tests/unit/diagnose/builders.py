"""Builds evidence from a description of what each rank did: no mocks, only the model's own types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ddpdoctor.model.collectives import Call, Kind, Recorder, RecorderEntry
from ddpdoctor.model.evidence import Evidence, RankEvidence, SourceFile, Timing
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Exit, Motion, ProcessState, ThreadState
from ddpdoctor.model.progress import (
    Counters,
    Ending,
    EndKind,
    Event,
    EventKind,
    LoaderCount,
    Page,
    Raised,
)
from ddpdoctor.model.ranks import Group, Rank, Role, Worker
from ddpdoctor.model.stacks import Local, Site, Stacks, StackSource, Thread

TORCH = "/env/lib/python3.11/site-packages/torch"
ENGINE = Site(f"{TORCH}/autograd/graph.py", 865, "_engine_run_backward")
NOW = 100.0


def c10d(op: str) -> Site:
    return Site(f"{TORCH}/distributed/distributed_c10d.py", 3000, op)


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that a rank did; the last one may be where it is blocked."""

    kind: EventKind
    site: Site
    op: str = ""
    call: Kind = Kind.ALL
    group: str = "0"
    root: int | None = None
    peer: int | None = None
    tag: int | None = None
    asynchronous: bool = False
    #: frames that led to it, innermost first, down to the file that ran; empty for a version that recorded none
    path: tuple[Site, ...] = ()
    #: of a backward
    reduces: bool | None = None
    #: of its tensor
    elements: int = 4


@dataclass(frozen=True, slots=True)
class At:
    """Places in one source file."""

    file: str = "/job/train.py"
    function: str = "train"

    def line(self, number: int, function: str = "") -> Site:
        return Site(self.file, number, function or self.function)

    def next(self, line: int) -> Act:
        return Act(EventKind.NEXT, self.line(line))

    def stop(self, line: int) -> Act:
        return Act(EventKind.STOP_ITERATION, self.line(line))

    def forward(self, line: int) -> Act:
        return Act(EventKind.FORWARD, self.line(line))

    def forward_no_sync(self, line: int) -> Act:
        return Act(EventKind.FORWARD_NO_SYNC, self.line(line))

    def backward(self, line: int, *, reduces: bool | None = None) -> Act:
        return Act(EventKind.BACKWARD, self.line(line), reduces=reduces)

    def update(self, line: int) -> Act:
        return Act(EventKind.OPTIMIZER_STEP, self.line(line))

    def all(self, op: str, line: int, *, group: str = "0", function: str = "", asynchronous: bool = False) -> Act:
        return Act(EventKind.CALL, self.line(line, function), op, group=group, asynchronous=asynchronous)

    def broadcast(self, line: int, root: int, *, function: str = "") -> Act:
        return Act(EventKind.CALL, self.line(line, function), "broadcast", Kind.FROM_ROOT, root=root)

    def recv(self, line: int, peer: int | None) -> Act:
        return Act(EventKind.CALL, self.line(line), "recv", Kind.RECV, peer=peer)

    def step(self, first: int) -> list[Act]:
        """Batch, forward, backward, update on consecutive lines."""
        return [self.next(first), self.forward(first + 1), self.backward(first + 2), self.update(first + 3)]


@dataclass(frozen=True, slots=True)
class Doing:
    """What a rank did and how it is now."""

    acts: Sequence[Act]
    #: inside the last act
    blocked: bool = True
    #: user frames outside the innermost, innermost first
    callers: tuple[Site, ...] = ()
    #: user frame where it is if it is not blocked
    stands: Site | None = None
    #: the loop counters of its function, `At.function`, as py-spy would give them
    counts: Mapping[str, int] = field(default_factory=dict)
    state: str = "S"
    cpu_share: float = 0.0
    moves: bool = False
    exit_status: int | None = None
    raised: Raised | None = None
    fatal: str = ""


def job(
    doing: Sequence[Doing],
    *,
    groups: Mapping[str, Iterable[int]] | None = None,
    code: Mapping[str, str] | None = None,
    lost: int = 0,
    backend: str = "gloo",
) -> Evidence:
    """Evidence of a job whose rank n did `doing[n]`."""
    world = tuple(Rank(r) for r in range(len(doing)))
    known = {"0": Group("0", world, "default_pg")}
    known |= {name: Group(name, tuple(Rank(m) for m in members)) for name, members in (groups or {}).items()}
    ranks = tuple(_rank(rank, what, known, lost, backend) for rank, what in zip(world, doing, strict=True))
    return Evidence(
        len(doing),
        ranks,
        Timing(started=0.0, last_progress=96.0, detected=99.0, collected=NOW),
        code={path: SourceFile(path, text) for path, text in (code or {}).items()},
    )


def _rank(rank: Rank, what: Doing, groups: Mapping[str, Group], lost: int, backend: str) -> RankEvidence:
    pid = 1000 + rank
    mine = {name: group for name, group in groups.items() if rank in group.members}
    ended = what.exit_status is not None
    evidence = RankEvidence(
        rank,
        Worker(pid, 1.0, Role.RANK, rank, int(rank), len(groups["0"].members)),
        page=_page(pid, rank, what, mine, lost, backend),
        fatal=what.fatal,
    )
    if ended:
        return replace(evidence, exit=Exit(pid, what.exit_status or 0, 50.0 + rank))
    return replace(
        evidence,
        recorder=_recorder(what, mine, backend),
        stacks=_stacks(pid, what),
        process=ProcessState(NOW, what.state, 5.0, 0, (ThreadState(pid, "python", what.state, "futex_do_wait", 5.0),)),
        motion=Motion(1.0, what.cpu_share, 0, Observed.of(what.moves), Observed.of(what.moves)),
    )


def _page(pid: int, rank: Rank, what: Doing, groups: Mapping[str, Group], lost: int, backend: str) -> Page:
    events = tuple(_event(n, act, pid, groups) for n, act in enumerate(what.acts))
    last = events[-1] if events else None
    calls: tuple[Call, ...] = ()
    if what.blocked and last is not None and what.exit_status is None:
        backward = Call(Kind.BACKWARD, "backward", pid, last.site, last.time)
        calls = (last.call or backward,)
    ending = Ending(EndKind.EXCEPTION, what.raised.time, what.raised) if what.raised else None
    return Page(
        pid,
        1,
        rank,
        len(groups["0"].members),
        "2.13.0",
        backend,
        heartbeat=NOW - 0.5,
        moved=96.0,
        revision=7,
        counters=_counters(what.acts),
        groups=tuple(groups.values()),
        calls=calls,
        events=events[lost:],
        events_lost=lost,
        communicating_threads=(pid,),
        ending=ending,
    )


def _event(number: int, act: Act, pid: int, groups: Mapping[str, Group]) -> Event:
    time = 2.0 + number * 0.01
    if act.kind is not EventKind.CALL:
        return Event(number, act.kind, time, pid, act.site, path=act.path, reduces=act.reduces)
    call = Call(
        act.call,
        act.op,
        pid,
        act.site,
        time,
        groups[act.group],
        peer=None if act.peer is None else Rank(act.peer),
        tag=act.tag,
        root=None if act.root is None else Rank(act.root),
        asynchronous=act.asynchronous,
        path=act.path,
        numel=act.elements,
    )
    return Event(number, act.kind, time, pid, act.site, call, act.path)


def _counters(acts: Sequence[Act]) -> Counters:
    kinds = [act.kind for act in acts]
    sites = dict.fromkeys(a.site for a in acts if a.kind in (EventKind.NEXT, EventKind.STOP_ITERATION))
    loaders = tuple(
        LoaderCount(
            site,
            sum(a.kind is EventKind.NEXT and a.site == site for a in acts),
            sum(a.kind is EventKind.STOP_ITERATION and a.site == site for a in acts),
        )
        for site in sites
    )
    backwards = kinds.count(EventKind.BACKWARD)
    return Counters(
        loaders,
        kinds.count(EventKind.FORWARD),
        kinds.count(EventKind.FORWARD_NO_SYNC),
        backwards,
        backwards,
        kinds.count(EventKind.OPTIMIZER_STEP),
    )


def _recorder(what: Doing, groups: Mapping[str, Group], backend: str) -> Recorder:
    entries: list[RecorderEntry] = []
    seqs = dict.fromkeys(groups, 0)
    synchronises = True
    for number, act in enumerate(what.acts):
        if act.kind in (EventKind.FORWARD, EventKind.FORWARD_NO_SYNC):
            synchronises = act.kind is EventKind.FORWARD
        op = "all_reduce" if act.kind is EventKind.BACKWARD and synchronises else act.op
        if not op or act.call in (Kind.RECV, Kind.SEND) or op == "new_group":
            continue
        seqs[act.group] += 1
        retired = not (what.blocked and number == len(what.acts) - 1)
        sizes = ((act.elements,),)
        entries.append(
            RecorderEntry(seqs[act.group], op, backend, act.group, sizes, ("Float",), 0, "scheduled", retired)
        )
    return Recorder("2.10", tuple(entries))


def _stacks(pid: int, what: Doing) -> Stacks:
    frames: tuple[Site, ...]
    if what.blocked and what.acts:
        last = what.acts[-1]
        inner = ENGINE if last.kind is EventKind.BACKWARD else c10d(last.op)
        frames = (inner, *(last.path or (last.site, *what.callers)))
    else:
        frames = (*((what.stands,) if what.stands else ()), *what.callers)
    own = next((n for n, frame in enumerate(frames) if frame.function == At().function), 0)
    locals_ = tuple(Local(own, name, value) for name, value in what.counts.items())
    return Stacks(StackSource.PYSPY_NONBLOCKING, (Thread(pid, "MainThread", frames, locals=locals_),))


def raised(kind: str, message: str, time: float, site: Site) -> Raised:
    return Raised(kind, message, time, (site,), f"Traceback (most recent call last):\n{kind}: {message}\n")
