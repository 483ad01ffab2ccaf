"""Hand-made reports, one for each kind of screen."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.model.diagnosis import Confidence, Deadlock, Diagnosis, Location, Outcome, Retry
from ddpdoctor.model.evidence import Gap, Source, SourceFile
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import Frontier, GroupReport, RankStatus, Report, StackNode, Timeline
from ddpdoctor.model.stacks import Site

TRAIN = "/home/ada/vision/train.py"
COMMAND = ("torchrun", "--nproc-per-node", "8", "train.py")
VERSIONS = {"torch": "2.13.0", "python": "3.11.7", "ddpdoctor": "0.2.0"}

_TRAIN_LINES = {
    68: "def after_epoch(model: nn.Module, epoch: int) -> None:",
    69: "    rank = dist.get_rank()",
    70: "    if rank == 0:",
    71: "        save_checkpoint(model)",
    72: "        dist.barrier()",
    73: "    return None",
    86: "        optimizer.zero_grad()",
    87: "        loss = criterion(model(images), labels)",
    88: "        loss.backward()",
    89: "        optimizer.step()",
}
TRAIN_TEXT = "\n".join(_TRAIN_LINES.get(number, f"# line {number}") for number in range(1, 121)) + "\n"


def _status(rank: int, state: str, label: str, location: Location | None, stack: int = -1) -> RankStatus:
    return RankStatus(Rank(rank), state, label, location, stack)


def _at(ranks: RankSet, line: int, function: str, source: str) -> Location:
    return Location(ranks, TRAIN, line, function, source)


def hang_certain(changed: bool = False) -> Report:
    """Rank 0 of 8 is alone in a barrier."""
    others, first = RankSet.parse("1-7"), RankSet.of([0])
    barrier = _at(first, 72, "after_epoch", "dist.barrier()")
    backward = _at(others, 88, "train_epoch", "loss.backward()")
    finding = Finding(
        "DD111", "collective-under-rank-branch", Severity.ERROR, TRAIN, 72, 9, 72, 23, "only rank 0 runs it"
    )
    diagnosis = Diagnosis(
        code="DD203",
        name="rank-conditional-collective",
        confidence=Confidence.CERTAIN,
        culprit_confidence=Confidence.CERTAIN,
        culprits=first,
        waiting=others,
        summary="rank 0 is in barrier at train.py:72 where ranks 1-7 are in all_reduce (#1042, the default group)",
        why="Every rank of a group must enter the same collectives in the same order. Only rank 0 reaches this one.",
        fix="Move dist.barrier() out of `if rank == 0:` so that all ranks call it.",
        locations=(barrier, backward),
        evidence=(
            "The recorder and the Python stacks agree on what each rank waits in.",
            "The call site train.py:72 is in the history of rank 0 alone",
        ),
        lint=(finding,),
        retry=Retry.FAILS_AGAIN,
    )
    root = Site(TRAIN, 120, "<module>")
    return Report(
        outcome=Outcome.HANG,
        deadlock=Deadlock.PROVEN,
        diagnoses=(diagnosis,),
        ranks=(
            _status(0, "waiting", "barrier seq 1042", barrier, 0),
            *(_status(rank, "waiting", "all_reduce seq 1042", backward, 1) for rank in range(1, 8)),
        ),
        groups=(
            GroupReport(
                name="0",
                label="the default group",
                members=RankSet.parse("0-7"),
                frontiers=(Frontier(first, 1042, "barrier", False), Frontier(others, 1042, "all_reduce", False)),
            ),
        ),
        stacks=(
            StackNode(
                root,
                RankSet.parse("0-7"),
                (StackNode(Site(TRAIN, 72, "after_epoch"), first), StackNode(Site(TRAIN, 88, "train_epoch"), others)),
            ),
        ),
        gaps=(Gap(Source.RECORDER, Rank(4), "did not answer in 2 s", "none is needed for this verdict"),),
        timeline=Timeline(last_progress=118.2, detected=121.3, reported=122.1),
        command=COMMAND,
        versions=VERSIONS,
        environment={"TORCH_FR_BUFFER_SIZE": "2000: keep the recorder's history"},
        not_considered={"DD299": "needs nothing more"},
        code={TRAIN: SourceFile(TRAIN, TRAIN_TEXT, changed)},
    )


def hang_on_two_nodes() -> Report:
    """The same seen by the watchers of two nodes."""
    report = hang_certain()
    return replace(report, ranks=tuple(replace(one, host=f"node-{one.rank // 4}") for one in report.ranks))


def hang_undecided() -> Report:
    """Two ranks, two stories, no majority."""
    both = RankSet.of([0, 1])
    here = _at(RankSet.of([0]), 72, "after_epoch", "dist.barrier()")
    there = _at(RankSet.of([1]), 88, "train_epoch", "loss.backward()")
    diagnosis = Diagnosis(
        code="DD299",
        name="undecided",
        confidence=Confidence.POSSIBLE,
        culprit_confidence=Confidence.POSSIBLE,
        culprits=RankSet(),
        waiting=both,
        summary="rank 0 is in barrier at train.py:72 and rank 1 in all_reduce at train.py:88; either may be wrong",
        why="Two ranks have no majority. Either rank 1 left out the barrier of train.py:72, or rank 0 left out a "
        "backward of train.py:88.",
        fix="Look at which of the two calls every rank should make at this point of the program.",
        locations=(here, there),
        evidence=("The counters of both ranks are equal.",),
    )
    runner_up = Diagnosis(
        code="DD207",
        name="skipped-batch",
        confidence=Confidence.POSSIBLE,
        culprit_confidence=Confidence.POSSIBLE,
        culprits=RankSet.of([0]),
        waiting=RankSet.of([1]),
        summary="rank 0 may have skipped a batch before train.py:88, where rank 1 waits in backward for it",
        why="A skipped batch leaves its collectives out.",
        fix="Skip it on all ranks or on none.",
        locations=(there,),
    )
    return Report(
        outcome=Outcome.HANG,
        deadlock=Deadlock.PROVEN,
        diagnoses=(diagnosis, runner_up),
        ranks=(
            _status(0, "waiting", "barrier seq 7", here),
            _status(1, "waiting", "all_reduce seq 7", there),
        ),
        groups=(),
        stacks=(),
        gaps=(),
        timeline=Timeline(9.0, 12.1, 12.9),
        code={TRAIN: SourceFile(TRAIN, TRAIN_TEXT)},
    )


def crash() -> Report:
    """Rank 2 of 4 raised first; the others lost their peer."""
    culprit = _at(RankSet.of([2]), 87, "train_epoch", "loss = criterion(model(images), labels)")
    victim = _at(RankSet.of([0, 1, 3]), 88, "train_epoch", "loss.backward()")
    diagnosis = Diagnosis(
        code="DD251",
        name="rank-died",
        confidence=Confidence.CERTAIN,
        culprit_confidence=Confidence.CERTAIN,
        culprits=RankSet.of([2]),
        waiting=RankSet.parse("0-1,3"),
        summary="rank 2 raised KeyError: 'duration' at train.py:87; ranks 0-1,3 died of losing it",
        why="An exception on one rank ends its process; the others then fail in their next collective.",
        fix="Mend the exception of rank 2. The errors of ranks 0-1,3 are its consequence.",
        locations=(culprit, victim),
        evidence=("The exception of rank 2 was raised 0.3 s before any other.",),
        traceback=(
            "Traceback (most recent call last):\n"
            '  File "/home/ada/vision/train.py", line 120, in <module>\n    main()\n'
            '  File "/home/ada/vision/train.py", line 87, in train_epoch\n'
            "    loss = criterion(model(images), labels)\n"
            '  File "/home/ada/vision/data.py", line 31, in __getitem__\n'
            '    return float(event["duration"])\n'
            "KeyError: 'duration' \x1b[31mred\x1b[0m \x07\n"
        ),
        retry=Retry.FAILS_AGAIN,
    )
    return Report(
        outcome=Outcome.CRASH,
        deadlock=Deadlock.NO,
        diagnoses=(diagnosis,),
        ranks=(
            *(_status(rank, "exited", "exit status 1: RuntimeError", victim) for rank in (0, 1, 3)),
            _status(2, "exited", "exit status 1: KeyError", culprit),
        ),
        groups=(),
        stacks=(),
        gaps=(Gap(Source.STACKS, Rank(2), "the process is gone"), Gap(Source.STACKS, Rank(0), "the process is gone")),
        timeline=Timeline(4.2, 4.4, 4.6),
        code={TRAIN: SourceFile(TRAIN, TRAIN_TEXT)},
    )


def slow() -> Report:
    """Rank 0 of 3 tokenizes while the others wait."""
    work = _at(RankSet.of([0]), 71, "after_epoch", "save_checkpoint(model)")
    barrier = _at(RankSet.of([1, 2]), 72, "after_epoch", "dist.barrier()")
    diagnosis = Diagnosis(
        code="DD231",
        name="slow-host-work",
        confidence=Confidence.LIKELY,
        culprit_confidence=Confidence.CERTAIN,
        culprits=RankSet.of([0]),
        waiting=RankSet.of([1, 2]),
        summary="rank 0 works at train.py:71, one core busy, and ranks 1-2 wait for it in barrier",
        why="Work that one rank does alone makes all others wait; past the group's timeout it ends the job.",
        fix="Do this work before init_process_group, or on all ranks, or raise the timeout.",
        locations=(work, barrier),
        evidence=("Rank 0 used 0.99 cores between two samples.",),
        retry=Retry.FAILS_AGAIN,
    )
    return Report(
        outcome=Outcome.SLOW,
        deadlock=Deadlock.NO,
        diagnoses=(diagnosis,),
        ranks=(
            _status(0, "working", "1.0 cores, lines move", work),
            _status(1, "waiting", "barrier seq 3", barrier),
            _status(2, "waiting", "barrier seq 3", barrier),
        ),
        groups=(),
        stacks=(),
        gaps=(),
        timeline=Timeline(2.0, 12.0, 12.8),
        code={TRAIN: SourceFile(TRAIN, TRAIN_TEXT)},
        notes=("a capture may have made the job go on",),
    )


def healthy() -> Report:
    """Nothing is wrong."""
    return Report(
        outcome=Outcome.HEALTHY,
        deadlock=Deadlock.NO,
        diagnoses=(),
        ranks=tuple(_status(rank, "exited", "exit status 0", None) for rank in range(4)),
        groups=(),
        stacks=(),
        gaps=(),
        timeline=Timeline(20.0, None, None),
    )


REPORTS = {
    "hang-certain": hang_certain(),
    "hang-on-two-nodes": hang_on_two_nodes(),
    "hang-undecided": hang_undecided(),
    "hang-source-changed": hang_certain(changed=True),
    "crash": crash(),
    "slow": slow(),
    "healthy": healthy(),
}
