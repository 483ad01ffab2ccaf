"""What counts as writing a checkpoint: functions that save, or that write while bytes are being written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Motion
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


def _job(function: str, io_bytes: int) -> Evidence:
    waiting = Doing([AT.all("barrier", 9)])
    writer = Doing([], blocked=False, stands=AT.line(4, function), cpu_share=0.9)
    evidence = job([writer, waiting, waiting])
    rank = replace(evidence.ranks[0], motion=Motion(1.0, 0.9, io_bytes, Observed.NO, Observed.NO))
    return replace(evidence, ranks=(rank, *evidence.ranks[1:]))


@pytest.mark.parametrize(
    ("function", "io_bytes", "code"),
    [
        ("save_checkpoint", 0, "DD232"),
        ("Trainer._save", 0, "DD232"),
        ("write_shard", 1 << 20, "DD232"),
        ("write_metrics", 0, "DD231"),
        ("dump_config", 0, "DD231"),
        ("tokenize", 1 << 20, "DD231"),
    ],
)
def test_writing(function: str, io_bytes: int, code: str) -> None:
    assert [d.code for d in examine(_job(function, io_bytes)).diagnoses] == [code]


@pytest.mark.parametrize(
    ("between", "code"),
    [("Trainer._maybe_log_save_evaluate", "DD231"), ("Trainer._save_checkpoint", "DD232")],
)
def test_a_librarys_function_that_may_save_does_not_show_that_it_does(between: str, code: str) -> None:
    evidence = _job("on_evaluate", 0)
    rank = evidence.ranks[0]
    assert rank.stacks is not None
    main = rank.stacks.threads[0]
    library = Site("/usr/lib/python3.11/site-packages/trainers/trainer.py", 9, between)
    frames = (*main.frames, library, AT.line(9, "main"))
    stacks = replace(rank.stacks, threads=(replace(main, frames=frames), *rank.stacks.threads[1:]))
    changed = replace(evidence, ranks=(replace(rank, stacks=stacks), *evidence.ranks[1:]))
    assert [d.code for d in examine(changed).diagnoses] == [code]
