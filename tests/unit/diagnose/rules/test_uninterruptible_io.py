"""Processes in state D."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.processes import ProcessState, ThreadState
from tests.unit.diagnose.builders import NOW, At, Doing, job

AT = At()


def _job(state: str, wchan: str, odd: int = 1) -> Evidence:
    waits = Doing([AT.forward(2), AT.backward(3)])
    reads = Doing([AT.forward(2)], blocked=False, stands=AT.line(7), state=state)
    evidence = job([reads if rank == odd else waits for rank in range(3)])
    ranks = list(evidence.ranks)
    pid = ranks[odd].worker.pid
    threads = (ThreadState(pid, "python", state, wchan, 5.0),)
    ranks[odd] = replace(ranks[odd], process=ProcessState(NOW, state, 5.0, 0, threads))
    return replace(evidence, ranks=tuple(ranks))


@pytest.mark.parametrize("odd", range(3))
@pytest.mark.parametrize("wchan", ["nfs_wait_bit_killable", "rpc_wait_bit_killable", "request_wait_answer"])
def test_a_file_server_that_does_not_answer(wchan: str, odd: int) -> None:
    found = examine(_job("D", wchan, odd)).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD243", (odd,), 7)
    assert found.confidence.value == "likely"


@pytest.mark.parametrize("wchan", ["folio_wait_bit_common", ""])
def test_a_disk_may_only_be_slow(wchan: str) -> None:
    found = [d for d in examine(_job("D", wchan)).diagnoses if d.code == "DD243"]
    assert [d.confidence.value for d in found] == ["possible"]


def test_an_ordinary_sleep_is_none() -> None:
    assert "DD243" not in [d.code for d in examine(_job("S", "nfs_wait_bit_killable")).diagnoses]
