"""The verdict on a job of which only recorder dumps are left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ddpdoctor.diagnose import codes
from ddpdoctor.diagnose.offline.recorder_dumps.diagnoses import causes
from ddpdoctor.diagnose.offline.recorder_dumps.pending_operations import DEFAULT, JobState, PendingOp, survey
from ddpdoctor.diagnose.offline.recorder_dumps.wording import ranks
from ddpdoctor.merge.recorder_set import from_recorders
from ddpdoctor.model.diagnosis import Deadlock, Diagnosis, Location, Outcome
from ddpdoctor.model.evidence import Evidence, Gap
from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.model.recorder_set import RecorderSet, Step
from ddpdoctor.model.report import Frontier, GroupReport, RankStatus, Report, Timeline
from ddpdoctor.model.stacks import Site

#: groups shown in full; if there are more, only those in which a rank waits
_MOST_GROUPS = 64


def examine_dumps(recorders: RecorderSet, gaps: tuple[Gap, ...] = (), notes: tuple[str, ...] = ()) -> Report:
    """Diagnose from recorders alone what holds the job up. Never raises for odd dumps."""
    job = survey(recorders)
    waits = bool(job.pending_ops)
    return Report(
        outcome=Outcome.HANG if waits else Outcome.HEALTHY,
        deadlock=Deadlock.SUSPECTED if waits else Deadlock.NO,
        diagnoses=causes(job),
        ranks=tuple(_statuses(job)),
        groups=tuple(_groups(job)),
        stacks=(),
        gaps=gaps,
        timeline=Timeline(None, None, None),
        notes=(*notes, *_notes(job)),
    )


def recorded_beside(evidence: Evidence) -> tuple[Diagnosis, ...]:
    """Diagnoses from the recorders of ranks without pages, if there are stacks or logs too; empty if there are none."""
    held = {seen.rank: seen.recorder for seen in evidence.ranks if seen.recorder and seen.recorder.entries}
    if len(held) < 2:
        return ()
    seen = {rank.rank for rank in evidence.ranks if rank.stacks or rank.raised or rank.exit or rank.rank not in held}
    found = causes(survey(from_recorders(held, evidence.world_size, size_known=evidence.size_known)))
    return tuple(d for d in found if d.code != codes.UNDECIDED.code or not any(rank in seen for rank in d.culprits))


def _notes(job: JobState) -> Iterator[str]:
    unseen = job.recorders.unseen()
    if unseen:
        yield f"{ranks(unseen)} left no dump"
    if DEFAULT in job.recorders.inferred:
        yield "nothing shows how many ranks the job had: those that left a dump are assumed"
    if parts := job.recorders.inferred - {DEFAULT}:
        names = ", ".join(sorted(parts)[:8])
        yield f"the dumps do not name the members of group {names}: the ranks that used it are assumed"
    if not job.pending_ops and job.recorders.members:
        yield "no operation was outstanding in any dump: they were written while no rank waited"


def _statuses(job: JobState) -> Iterator[RankStatus]:
    for number in range(job.recorders.world_size):
        rank = Rank(number)
        if rank not in job.recorders.members:
            yield RankStatus(rank, "unseen", "left no dump", None, -1)
        elif rank in job.place:
            pending = job.place[rank]
            step = pending.steps[rank]
            yield RankStatus(rank, "waiting", _label(pending, step), _location(rank, step.site), -1)
        else:
            steps = job.recorders.members[rank].ring.steps
            last = f"since {steps[-1].op or 'operation'} seq {steps[-1].seq}" if steps else "at all"
            site = steps[-1].site if steps else None
            yield RankStatus(rank, "unclear", f"in no operation {last}", _location(rank, site), -1)


def _label(pending: PendingOp, step: Step) -> str:
    members = pending.group.members
    if step.p2p and step.peer is not None and step.peer < len(members):
        return f"{step.op} {'to' if step.op == 'send' else 'from'} rank {members[step.peer]}"
    return f"{step.op or 'operation'} seq {step.seq}"


def _location(rank: Rank, site: Site | None) -> Location | None:
    return Location(RankSet((rank,)), site.file, site.line, site.function) if site else None


def _groups(job: JobState) -> Iterator[GroupReport]:
    """Every group with its members' last operations; of very many groups those in which a rank waits."""
    waited = {id(pending.group) for pending in job.pending_ops}
    groups: dict[int, Group] = {}
    users: dict[int, dict[Rank, int]] = {}
    for rank, member in job.recorders.members.items():
        for role, group in enumerate(member.groups):
            groups[id(group)] = group
            users.setdefault(id(group), {})[rank] = role
    shown = list(groups) if len(groups) <= _MOST_GROUPS else [number for number in groups if number in waited]
    for number in shown[:_MOST_GROUPS]:
        group = groups[number]
        label = group.label(job.recorders.world_size)
        yield GroupReport(group.name, label, RankSet.of(group.members), tuple(_frontiers(job, users[number])))


def _frontiers(job: JobState, roles: Mapping[Rank, int]) -> Iterator[Frontier]:
    found: dict[tuple[int, str, bool], list[Rank]] = {}
    for rank, role in roles.items():
        front = job.ring_summary(rank).fronts.get(role)
        if front is not None:
            found.setdefault((front.last.seq, front.last.op, front.last.finished), []).append(rank)
    for (seq, op, finished), members in sorted(found.items()):
        yield Frontier(RankSet.of(members), seq, op, finished)
