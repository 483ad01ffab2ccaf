"""All ranks in one operation while another group's is open: never the transport."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.collectives import RecorderEntry
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.builders import At, Doing, job

AT = At()
IN_STEP = Doing([AT.next(3), AT.forward(4), AT.backward(5)])


def _beside(evidence: Evidence, *, retired: bool = False, group: str = "b", backend: str = "nccl") -> Evidence:
    """Each rank has issued an operation of another group as well."""
    state = "completed" if retired else "scheduled"
    ranks = []
    for rank in evidence.ranks:
        assert rank.recorder is not None
        entry = RecorderEntry(9, "all_gather", backend, group, ((4,),), ("Float",), 0, state, retired)
        ranks.append(replace(rank, recorder=replace(rank.recorder, entries=(*rank.recorder.entries, entry))))
    return replace(evidence, ranks=tuple(ranks))


def _codes(evidence: Evidence) -> set[str]:
    return {found.code for found in examine(evidence).diagnoses}


def test_another_group_is_open_on_the_devices() -> None:
    evidence = _beside(job([IN_STEP] * 3, groups={"b": range(3)}, backend="nccl"))
    found = examine(evidence).diagnoses[0]
    assert (found.code, found.confidence, found.culprits.members) == ("DD272", Confidence.POSSIBLE, ())
    assert "operations of group b" in found.summary
    assert "DD271" not in _codes(evidence)


def test_another_group_that_has_finished_is_no_reason() -> None:
    evidence = _beside(job([IN_STEP] * 3, groups={"b": range(3)}, backend="nccl"), retired=True)
    codes = _codes(evidence)
    assert "DD271" in codes
    assert "DD272" not in codes


def test_more_of_the_same_group_is_no_reason() -> None:
    evidence = _beside(job([IN_STEP] * 3, backend="nccl"), group="0")
    assert "DD272" not in _codes(evidence)


def test_on_the_cpu_there_is_no_device() -> None:
    evidence = _beside(job([IN_STEP] * 3, groups={"b": range(3)}), backend="gloo")
    codes = _codes(evidence)
    assert "DD272" not in codes
    assert "DD271" not in codes


def test_a_rank_that_is_missing_is_the_nearer_cause() -> None:
    away = Doing([AT.next(3)], blocked=False, stands=AT.line(9))
    evidence = _beside(job([IN_STEP, away, IN_STEP], groups={"b": range(3)}, backend="nccl"))
    assert not {"DD271", "DD272"} & _codes(evidence)
