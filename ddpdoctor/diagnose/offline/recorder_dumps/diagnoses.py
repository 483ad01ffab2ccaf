"""From pending operations to diagnoses. Dumps show that a rank is missing, not what it does: nothing is certain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ddpdoctor.diagnose import codes
from ddpdoctor.diagnose.codes import Rule
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import operations
from ddpdoctor.diagnose.offline import transport
from ddpdoctor.diagnose.offline.recorder_dumps import shifts
from ddpdoctor.diagnose.offline.recorder_dumps.mismatches import mismatch
from ddpdoctor.diagnose.offline.recorder_dumps.pending_operations import JobState, PendingOp
from ddpdoctor.diagnose.offline.recorder_dumps.shifts import Shift
from ddpdoctor.diagnose.offline.recorder_dumps.wait_cycles import circle, circle_of_unnamed, may_lack_others
from ddpdoctor.diagnose.offline.recorder_dumps.wording import a_few, issued, label, locations, places, ranks, verb
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site

#: most independent causes in one report
_MOST_CAUSES = 4
_UNSEEN = " It can also be in a send, a recv or a monitored_barrier: gloo's recorder does not record these."
_MORE_RANKS = (
    " But nothing here shows how many ranks there are: a rank that left nothing may be the one that did not arrive."
)


def causes(job: JobState) -> tuple[Diagnosis, ...]:
    """What holds the ranks up, most confident first; empty if no rank waits."""
    if not job.pending_ops:
        return ()
    moved = _shifts(job)
    if moved:
        return tuple(_moved(job, shift) for shift in moved)
    loose = _loose(job)
    found = [_missing(job, pending, missing, alone=len(loose) == 1) for pending, missing in loose[:_MOST_CAUSES]]
    if not found:
        sinks = sorted(job.sinks, key=lambda sink: -sum(len(pending.waiting) for pending in sink))
        unnamed = [sink[0] for sink in sinks if len(sink) == 1 and may_lack_others(job, sink[0])]
        found = [circle_of_unnamed(job, unnamed)] if unnamed else []
        found += [diagnosis for sink in sinks if sink[0] not in unnamed for diagnosis in _of_sink(job, sink)]
    return tuple(found[:_MOST_CAUSES])


def _shifts(job: JobState) -> list[Shift]:
    """Shifts of all groups in which a rank waits; if the same ranks are shifted in several, the earliest
    group found.
    """
    found: dict[RankSet, Shift] = {}
    looked: set[int] = set()
    for pending in sorted(job.pending_ops, key=lambda m: -len(m.waiting)):
        if id(pending.group) in looked:
            continue
        looked.add(id(pending.group))
        shift = shifts.find_shift(job, pending)
        if shift is not None:
            found.setdefault(shift.ranks, shift)
    return list(found.values())[:_MOST_CAUSES]


def _loose(job: JobState) -> list[tuple[PendingOp, RankSet]]:
    """Pending operations that need ranks with no recorded operation pending, each rank once, at the first it missed.

    That is one that waits for no other rank; of several the one in which most ranks wait.
    """
    last = {id(pending) for sink in job.sinks if len(sink) == 1 for pending in sink}
    found: list[tuple[PendingOp, RankSet]] = []
    told: set[Rank] = set()
    for pending in sorted(job.pending_ops, key=lambda m: (id(m) not in last, -len(m.waiting))):
        missing = [rank for rank in pending.absent if rank not in job.place and rank not in told]
        if missing:
            told.update(missing)
            found.append((pending, RankSet.of(missing)))
    return found


def _of_sink(job: JobState, sink: Sequence[PendingOp]) -> Iterator[Diagnosis]:
    if len(sink) > 1:
        yield circle(job, sink)
        return
    pending = sink[0]
    sides = shifts.by_mark(pending.steps)
    if not pending.step.p2p and len(sides) > 1:
        yield mismatch(job, pending, sides)
    elif pending.passed and operations.kind(pending.step.op) is Kind.ALL:
        yield _lag(job, pending)
    elif pending.unknown:
        yield _no_dump(job, pending)
    elif pending.met:
        beside = _open_beside(job, pending)
        if not beside:
            yield _stall(job, pending)
        elif "nccl" in pending.step.backend:
            yield _device_order(job, pending, beside)


def _moved(job: JobState, shift: Shift) -> Diagnosis:
    step = shift.steps[0]
    rule: Rule = codes.BARRIER_OFF_BY_ONE if operations.family(step.op) == "barrier" else codes.UNDECIDED
    doing = verb(shift.ranks, "left out", "left out") if shift.skipped else "added"
    who, others = ranks(shift.ranks), ranks(shift.others)
    count = len(shift.steps)
    more = f" and {count - 1} more" if count > 1 else ""
    group = label(job, shift.pending)
    sure = Confidence.LIKELY if len(shift.others) > 1 else Confidence.POSSIBLE
    return diagnosis(
        rule,
        job.waiting - shift.ranks,
        confidence=Confidence.LIKELY if rule is codes.BARRIER_OFF_BY_ONE else Confidence.POSSIBLE,
        blame=sure,
        culprits=shift.ranks,
        summary=(
            f"{who} {doing} {issued(step)}{more} as number {shift.seq} of {group}; "
            f"since then {verb(shift.ranks, 'its', 'their')} operations are paired with the wrong ones of {others}"
        ),
        why=(
            f"Collectives of a group are paired by number alone. From number {shift.seq} on, what {who} issued is "
            f"what {others} issued, shifted by {count}: it went unnoticed as long as the operations matched, and "
            f"shows only now, in {issued(shift.pending.step)}, number {shift.pending.step.seq}. The dumps do not show "
            "why: a condition on the rank or on its data, or an exception that was caught."
        ),
        fix=f"Check {places(shift.steps)}: every rank of the group must get there equally often.",
        locations=locations([(shift.ranks if not shift.skipped else shift.others, step.site)], job, shift.ranks),
        evidence=tuple(
            f"number {shift.seq + n} is {issued(s)} on {others if shift.skipped else who}"
            for n, s in enumerate(shift.steps[:3])
        ),
    )


def _missing(job: JobState, pending: PendingOp, missing: RankSet, *, alone: bool) -> Diagnosis:
    """Ranks that issued less than the others and have no pending operation; or few ranks that issued more than all
    others.

    If several operations lack ranks, one of them may be a receive that was posted early and holds no rank up.
    """
    few = len(missing) <= len(job.waiting)
    culprits = missing if few else pending.waiting
    where = f"{issued(pending.step)}, number {pending.step.seq} of {label(job, pending)}"
    if pending.step.p2p:
        where = f"{pending.step.op} of {ranks(pending.waiting)}"
    missed = ranks(missing)
    summary = (
        f"{missed} never reached {where}; {ranks(job.waiting)} {verb(job.waiting, 'waits', 'wait')}"
        if few
        else f"only {ranks(pending.waiting)} reached {where}; {missed} did not"
    )
    return diagnosis(
        codes.UNDECIDED,
        job.waiting - culprits,
        confidence=Confidence.POSSIBLE,
        blame=Confidence.LIKELY if few and alone else Confidence.POSSIBLE,
        culprits=culprits,
        summary=summary,
        why=(
            f"{missed.capitalize()} {verb(missing, 'was', 'were')} in no recorded operation when the dump was "
            f"written: {verb(missing, 'it was', 'they were')} elsewhere in the program, or had exited. What "
            f"{verb(missing, 'it', 'they')} did there, dumps cannot show. All others wait for it, directly or through "
            f"ranks that do.{_UNSEEN if 'gloo' in pending.step.backend else ''}"
        ),
        fix=(
            f"Check what {missed} did after {_last(job, missing)}; a stack of {verb(missing, 'it', 'them')} "
            "(py-spy dump) or its log, given with the dumps, shows more."
        ),
        locations=locations(((RankSet.of([rank]), _last_site(job, rank)) for rank in missing), job, job.waiting),
        evidence=tuple(
            a_few(
                f"rank {rank}: the last of {label(job, pending)} was {_frontier(job, pending, rank)}"
                for rank in missing
            )
        ),
    )


def _last_site(job: JobState, rank: Rank) -> Site | None:
    steps = job.recorders.members[rank].ring.steps
    return steps[-1].site if steps else None


def _last(job: JobState, missing: RankSet) -> str:
    steps = job.recorders.members[missing.members[0]].ring.steps
    if not steps:
        return "its start"
    return issued(steps[-1]) if steps[-1].op else f"operation {steps[-1].seq}"


def _frontier(job: JobState, pending: PendingOp, rank: Rank) -> str:
    member = job.recorders.members[rank]
    for role, group in enumerate(member.groups):
        front = job.ring_summary(rank).fronts.get(role)
        if group.name == pending.group.name and front is not None:
            return f"number {front.last.seq}{', ' + issued(front.last) if front.last.op else ''}"
    return "none that its ring contains"


def _lag(job: JobState, pending: PendingOp) -> Diagnosis:
    """Some ranks are in an operation that needs all, and others have completed that number: theirs was another
    operation.
    """
    few = len(pending.waiting) < len(pending.passed)
    culprits = pending.waiting if few else RankSet()
    who, others = ranks(pending.waiting), ranks(pending.passed)
    where = f"{issued(pending.step)}, number {pending.step.seq} of {label(job, pending)}"
    return diagnosis(
        codes.UNDECIDED,
        job.waiting - culprits,
        confidence=Confidence.POSSIBLE,
        blame=Confidence.LIKELY if few else Confidence.POSSIBLE,
        culprits=culprits,
        summary=(
            f"{who} {verb(pending.waiting, 'stands', 'stand')} in {where}, which {others} "
            f"{verb(pending.passed, 'has', 'have')} passed"
        ),
        why=(
            f"That operation is complete on no rank before all have arrived, so what {others} issued under that "
            f"number was not what {who} {verb(pending.waiting, 'waits', 'wait')} in: somewhere before, {who} reached "
            "one operation more or fewer, or a different one."
        ),
        fix=f"Compare what {who} and {others} did before: --matrix shows their operations side by side.",
        locations=locations([(pending.waiting, pending.step.site)], job, pending.passed),
        evidence=tuple(
            a_few(f"rank {rank}: {_frontier(job, pending, rank)}" for rank in (*pending.waiting, *pending.passed))
        ),
    )


def _no_dump(job: JobState, pending: PendingOp) -> Diagnosis:
    missing = pending.unknown
    where = f"{issued(pending.step)}, number {pending.step.seq} of {label(job, pending)}"
    return diagnosis(
        codes.UNDECIDED,
        job.waiting - missing,
        confidence=Confidence.POSSIBLE,
        culprits=missing,
        summary=f"{ranks(missing)} left no dump; all others of the group wait in {where}",
        why=(
            f"Every member that left a dump has reached {where}. Whether {ranks(missing)} arrived is not known: a "
            "rank that was killed, or that hangs where the dump cannot be written, leaves none."
        ),
        fix=f"Look for the dump, the log and the exit status of {ranks(missing)}.",
        locations=locations([(pending.waiting, pending.step.site)], job, RankSet()),
        evidence=(f"{len(pending.waiting)} of {len(pending.group.members)} ranks have reached it",),
    )


def _open_beside(job: JobState, pending: PendingOp) -> Mapping[str, RankSet]:
    """Other groups in which these ranks have issued an operation that has not finished."""
    found: dict[str, list[Rank]] = {}
    for rank in pending.waiting:
        member = job.recorders.members[rank]
        for role in dict.fromkeys(step.role for step in member.ring.steps if not step.finished or step.timed_out):
            if member.groups[role].name != pending.group.name:
                found.setdefault(member.groups[role].name, []).append(rank)
    return {name: RankSet.of(ranks) for name, ranks in found.items()}


def _device_order(job: JobState, pending: PendingOp, beside: Mapping[str, RankSet]) -> Diagnosis:
    names = ", ".join(sorted(beside)[:4])
    where = f"{issued(pending.step)}, number {pending.step.seq} of {label(job, pending)}"
    return diagnosis(
        codes.DEVICE_ORDER,
        job.waiting,
        confidence=Confidence.POSSIBLE,
        summary=f"all of {label(job, pending)} are in {where}, and operations of group {names} are open as well",
        why=(
            "The ranks agree on the order, and operations of more than one group are open: the devices may have "
            "started them in different orders, so that each holds up another. A transport that fails would look the "
            "same."
        ),
        fix=(
            "Finish the operation of one group before one of another begins on the same device: work.wait(), one "
            "stream for both, or an event between them. `CUDA_DEVICE_MAX_CONNECTIONS=1` shows whether the order is "
            "the cause."
        ),
        locations=locations([(pending.waiting, pending.step.site)], job, RankSet()),
        evidence=tuple(
            f"{ranks(who)}: group {name} has an operation that has not finished" for name, who in beside.items()
        ),
    )


def _stall(job: JobState, pending: PendingOp) -> Diagnosis:
    seq = pending.step.seq
    gave_up = any(step.timed_out for step in pending.steps.values())
    where = f"{issued(pending.step)}, number {pending.step.seq} of {label(job, pending)}"
    whole = pending.group.name not in job.recorders.inferred
    advice = transport.advise(frozenset({pending.step.backend}), nodes=None, seq=seq).numbered()
    return diagnosis(
        codes.TRANSPORT_STALL,
        job.waiting,
        confidence=Confidence.LIKELY if gave_up and whole else Confidence.POSSIBLE,
        blame=Confidence.POSSIBLE,
        summary=(
            f"all of {label(job, pending)} are in {where}, none is missing, and it is not complete"
            if whole
            else f"{ranks(pending.waiting)}, all that left a trace, {verb(pending.waiting, 'is', 'are')} in {where}, "
            "and it is not complete"
        ),
        why=(
            f"Every {'member' if whole else 'rank that is seen'} has issued the same operation, so the ranks agree. "
            "If it did not finish, the transport of the data is at fault; a dump that was written while all went well "
            f"looks the same.{'' if whole else _MORE_RANKS}"
        ),
        fix=f"{'Try' if whole else 'Make sure that no rank is missing here. Then try'}, in this order: {advice}.",
        locations=locations([(pending.waiting, pending.step.site)], job, RankSet()),
        evidence=(f"{len(pending.waiting)} of {len(pending.group.members)} ranks have reached it",),
    )
