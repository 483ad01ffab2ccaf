"""Ranks that meet while they compile, and others that do not compile."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import TORCH, At, Doing, job

AT = At()
COMPILER = (
    Site(f"{TORCH}/_dynamo/symbolic_convert.py", 700, "run_with_sync"),
    Site(f"{TORCH}/_dynamo/convert_frame.py", 9, "_compile"),
)
CALL = AT.line(8)
STEP = [AT.next(3), AT.all("all_reduce", 9)]
ACT = AT.all("all_gather_object", 8)
COMPILES = Doing([*STEP, AT.next(3), replace(ACT, path=(*COMPILER, CALL))])
TRAINS = Doing([*STEP, AT.next(3), AT.all("all_reduce", 9)])


def _found(evidence: Evidence) -> list[Diagnosis]:
    return [found for found in examine(evidence).diagnoses if found.code == "DD223"]


def test_one_rank_compiles_and_meets_nobody() -> None:
    (found,) = _found(job([TRAINS, COMPILES, TRAINS], backend="nccl"))
    assert (found.confidence, found.culprits.members) == (Confidence.POSSIBLE, ())
    assert "rank 1 waits" in found.summary
    assert "run_with_sync of symbolic_convert.py" in found.evidence[0]


def test_all_compile() -> None:
    assert not _found(job([COMPILES] * 3, backend="nccl"))


def test_a_rank_that_compiles_and_waits_for_nobody() -> None:
    busy = Doing([*STEP, AT.next(3)], blocked=False, stands=COMPILER[0], callers=(CALL,), cpu_share=1.0, state="R")
    assert not _found(job([TRAINS, busy, TRAINS], backend="nccl"))


def test_the_same_collective_without_a_compiler() -> None:
    assert not _found(job([TRAINS, Doing([*STEP, AT.next(3), ACT]), TRAINS], backend="nccl"))


def test_they_have_met() -> None:
    """The ranks that compile are in the operation in which the others are."""
    same = Doing([*STEP, AT.next(3), replace(AT.all("all_reduce", 9), path=(*COMPILER, CALL))])
    assert not _found(job([TRAINS, same, TRAINS], backend="nccl"))


def test_a_rank_without_a_stack_may_compile_too() -> None:
    evidence = job([TRAINS, COMPILES, TRAINS], backend="nccl")
    ranks = (replace(evidence.ranks[0], stacks=None), *evidence.ranks[1:])
    assert not _found(replace(evidence, ranks=ranks))
