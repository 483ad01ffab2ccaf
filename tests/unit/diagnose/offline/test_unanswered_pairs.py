"""Sends and receives with stacks and logs only: diagnosed if no rank is on the other side."""

from __future__ import annotations

import io

import pytest

from ddpdoctor.archive import input_files, pipeline
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.report import Report


def diagnose(text: str) -> Report:
    return pipeline.diagnose(input_files.find(["-"], io.BytesIO(text.encode())))


def stack(pid: int, op: str, line: int) -> str:
    return (
        f'Process {pid}: python train.py\n\nThread {pid} (idle): "MainThread"\n'
        f"    {op} (torch/distributed/distributed_c10d.py:2600)\n    step (train.py:{line})\n"
    )


SIZE = "n:9:9 [0] NCCL INFO ncclCommInitRank comm 0x5 rank {0} nranks 2 cudaDev 0 busId 4 - Init START\n"


@pytest.mark.parametrize(("op", "words"), [("recv", "no rank that is seen sends"), ("send", "is seen receives")])
def test_all_on_one_side_at_two_lines(op: str, words: str) -> None:
    first = diagnose(stack(10, op, 41) + stack(11, op, 47)).diagnoses[0]
    assert (first.code, first.confidence, first.culprits.members) == ("DD218", Confidence.POSSIBLE, ())
    assert words in first.summary
    assert {(place.line, place.ranks.members) for place in first.locations} == {(41, (0,)), (47, (1,))}


def test_it_is_likely_where_there_is_no_other_rank() -> None:
    size = "".join(SIZE.format(rank).replace(":9:9", f":{10 + rank}:9") for rank in (0, 1))
    assert diagnose(size + stack(10, "recv", 41) + stack(11, "recv", 47)).diagnoses[0].confidence is Confidence.LIKELY


@pytest.mark.parametrize(
    "stacks",
    [
        pytest.param((("recv", 41), ("send", 47)), id="both sides are there"),
        pytest.param((("recv", 41), ("all_reduce", 47)), id="one alone can have any reason"),
        pytest.param((("recv", 41), ("recv", 41), ("load", 7)), id="one may still come"),
    ],
)
def test_nothing_is_said_where_somebody_may_answer(stacks: tuple[tuple[str, int], ...]) -> None:
    text = "".join(stack(10 + number, op, line) for number, (op, line) in enumerate(stacks))
    text = text.replace("load (torch/distributed/distributed_c10d.py:2600)", "load (data.py:3)")
    assert "DD218" not in [diagnosis.code for diagnosis in diagnose(text).diagnoses]


@pytest.mark.parametrize("op", ["SEND", "RECV", "COALESCED"])
def test_a_logs_sends_are_not_taken_for_a_collective(op: str) -> None:
    work = f"WorkNCCL(SeqNum=5, OpType={op}, NumelIn=8, NumelOut=8, Timeout(ms)=600000)"
    text = "".join(
        f"[rank{rank}]:[E1 P.cpp:1] [Rank {rank}] Watchdog caught collective operation timeout: {work} ran for 9 ms.\n"
        f"[rank{rank}]:[E1 P.cpp:2] [PG ID 9 PG GUID 9(pp) Rank {rank}]  failure detected by watchdog at work sequence "
        "id: 5 PG status: last enqueued work: 5, last completed work: 4\n"
        for rank in (0, 1)
    )
    codes = [diagnosis.code for diagnosis in diagnose(text).diagnoses]
    assert "DD271" not in codes
    assert ("DD218" in codes) is (op != "COALESCED")
