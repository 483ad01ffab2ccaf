"""Two threads of a process in one group: told as a possibility, and not where the disorder itself is seen."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.collectives import Call, Kind, RecorderEntry
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.stacks import Stacks, Thread
from tests.unit.diagnose.builders import At, Doing, c10d, job

AT = At()
SAVER = At(function="save_async")
DONE = [AT.all("all_reduce", 5, group="t") for _ in range(3)]
IN_STEP = Doing([*DONE, AT.all("all_reduce", 5, group="t")])
GROUPS = {"t": range(3), "u": range(3)}


def _with_saver(rank: RankEvidence, group: str, op: str) -> RankEvidence:
    """The rank with a second thread that is in a collective."""
    assert rank.page is not None
    assert rank.recorder is not None
    assert rank.stacks is not None
    thread, site = rank.worker.pid + 500, SAVER.line(40)
    members = next(one for one in rank.page.groups if one.name == group)
    call = Call(Kind.ALL, op, thread, site, 3.0, members)
    page = replace(rank.page, calls=(*rank.page.calls, call), communicating_threads=(rank.worker.pid, thread))
    seq = 5 if group == "t" else 1
    entry = RecorderEntry(seq, op, "nccl", group, ((4,),), ("Float",), 0, "scheduled", False)
    recorder = replace(rank.recorder, entries=(*rank.recorder.entries, entry))
    saver = Thread(thread, "Thread-1", (c10d(op), site))
    stacks = Stacks(rank.stacks.source, (*rank.stacks.threads, saver))
    return replace(rank, page=page, recorder=recorder, stacks=stacks)


def _job(group: str = "t", op: str = "all_reduce") -> Evidence:
    evidence = job([IN_STEP] * 3, groups=GROUPS, backend="nccl")
    return replace(evidence, ranks=tuple(_with_saver(rank, group, op) for rank in evidence.ranks))


def _found(evidence: Evidence) -> list[Diagnosis]:
    return [found for found in examine(evidence).diagnoses if found.code == "DD222"]


def test_two_threads_in_one_group() -> None:
    (found,) = _found(_job())
    assert (found.confidence, found.culprits.members) == (Confidence.POSSIBLE, ())
    assert "two threads of ranks 0-2" in found.summary
    assert {place.function for place in found.locations} == {"train", "save_async"}


def test_a_thread_with_a_group_of_its_own() -> None:
    assert not _found(_job(group="u"))


def test_one_thread() -> None:
    assert not _found(job([IN_STEP] * 3, groups=GROUPS, backend="nccl"))


def test_a_rank_that_does_not_wait_is_the_nearer_cause() -> None:
    evidence = _job()
    away = job([IN_STEP, IN_STEP, Doing([*DONE], blocked=False, stands=AT.line(9))], groups=GROUPS, backend="nccl")
    assert not _found(replace(evidence, ranks=(*evidence.ranks[:2], away.ranks[2])))


def test_a_disorder_that_is_seen_has_a_code_of_its_own() -> None:
    evidence = _job(op="all_gather")
    odd = evidence.ranks[1]
    assert odd.recorder is not None
    first, second = odd.recorder.entries[-2:]
    swapped = (*odd.recorder.entries[:-2], replace(second, seq=4), replace(first, seq=5))
    changed = replace(odd, recorder=replace(odd.recorder, entries=swapped))
    report = examine(replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2])))
    codes = {found.code for found in report.diagnoses}
    assert "DD220" in codes
    assert "DD222" not in codes
