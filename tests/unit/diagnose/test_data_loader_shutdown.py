"""Ranks that wait for the end of their data workers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.stacks import Rung, Site, Stacks, Thread
from tests.unit.diagnose.builders import TORCH, At, Doing, job

AT = At()
LOADER = f"{TORCH}/utils/data/dataloader.py"
POLL = Site("/usr/lib/python3.11/selectors.py", 415, "select")


def _job(function: str, odd: int) -> Evidence:
    waits = Doing([*AT.step(3), AT.all("barrier", 9)])
    ends = Doing(AT.step(3), blocked=False, stands=AT.line(7))
    evidence = job([ends if rank == odd else waits for rank in range(3)])
    ranks = list(evidence.ranks)
    frames = (POLL, Site(LOADER, 1654, function), AT.line(7))
    stacks = Stacks(Rung.PYSPY, (Thread(ranks[odd].worker.pid, "MainThread", frames),))
    ranks[odd] = replace(ranks[odd], stacks=stacks)
    return replace(evidence, ranks=tuple(ranks))


@pytest.mark.parametrize("odd", range(3))
def test_an_iterator_that_was_given_up(odd: int) -> None:
    found = examine(_job("_MultiProcessingDataLoaderIter._shutdown_workers", odd)).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD237", (odd,), 7)


def test_a_wait_for_a_batch_is_another_cause() -> None:
    report = examine(_job("_MultiProcessingDataLoaderIter._try_get_data", 1))
    assert "DD237" not in [d.code for d in report.diagnoses]
