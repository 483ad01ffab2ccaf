"""Backward on CUDA: the main thread waits for the engine, and hooks run in a thread that C++ started."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from ddpdoctor.archive import input_files, pipeline
from ddpdoctor.model.report import Report

RUN = "_engine_run_backward (torch/autograd/graph.py:769)\n    backward (torch/autograd/__init__.py:289)"
OLD = "backward (torch/autograd/__init__.py:266)\n    backward (torch/_tensor.py:522)"
GATHER = "all_gather_into_tensor (torch/distributed/distributed_c10d.py:2709)\n    fetch (deepspeed/zero.py:80)"
REDUCE = "partition_grads (deepspeed/zero.py:1500)\n    hook (deepspeed/zero.py:1300)"
MONITOR = "wait (threading.py:324)\n    run (tqdm/_monitor.py:60)\n    _bootstrap_inner (threading.py:1016)"


def diagnose(stacks: Sequence[tuple[str, ...]]) -> Report:
    text = ""
    for rank, (main, *others) in enumerate(stacks):
        text += (
            f'Process {100 + rank}: python train.py --local_rank={rank}\n\nThread {100 + rank} (idle): "MainThread"\n'
        )
        text += f"    {main}\n    step (train.py:41)\n    <module> (train.py:90)\n"
        for number, frames in enumerate(others):
            text += f"Thread {1000 + 10 * rank + number} (active)\n    {frames}\n"
    return pipeline.diagnose(input_files.find(["-"], io.BytesIO(text.encode())))


@pytest.mark.parametrize("main", [RUN, OLD])
def test_ranks_whose_engines_stand_in_different_places_are_not_in_one_operation(main: str) -> None:
    report = diagnose([(main, MONITOR, GATHER)] * 3 + [(main, REDUCE, MONITOR)])
    labels = [status.label for status in report.ranks]
    assert labels == ["all_gather_into_tensor"] * 3 + ["backward"]
    first = report.diagnoses[0]
    assert first.culprits.members == (3,)
    assert "agrees with itself" not in first.why


@pytest.mark.parametrize("main", [RUN, OLD])
def test_backward_alone_is_a_wait(main: str) -> None:
    report = diagnose([(main, MONITOR)] * 2)
    assert [status.state for status in report.ranks] == ["waiting", "waiting"]
    assert {status.location.line for status in report.ranks if status.location} == {41}


def test_two_threads_that_could_be_the_engines_leave_it_open() -> None:
    report = diagnose([(RUN, GATHER, REDUCE)] * 2)
    assert [status.label for status in report.ranks] == ["backward", "backward"]
