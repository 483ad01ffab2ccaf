"""A rank that writes a checkpoint while the others wait."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import TORCH, At, Doing, job

AT = At()


def test_a_rank_that_writes() -> None:
    writer = Doing([AT.next(3)], blocked=False, stands=AT.line(8, "save"), state="R", cpu_share=0.6, moves=True)
    waiting = Doing([AT.next(3), AT.all("barrier", 9)])
    report = examine(job([writer, waiting, waiting]))
    assert report.outcome is Outcome.SLOW
    assert [d.code for d in report.diagnoses] == ["DD232"]
    # WHEN it works under another name THEN it is only slow
    other = replace(writer, stands=AT.line(8, "tokenize"))
    assert [d.code for d in examine(job([other, waiting, waiting])).diagnoses] == ["DD231"]


def test_serialization_is_known_by_its_module() -> None:
    writer = Doing(
        [AT.next(3)], blocked=False, stands=Site(f"{TORCH}/serialization.py", 900, "_x"), state="R", cpu_share=0.6
    )
    waiting = Doing([AT.next(3), AT.all("barrier", 9)])
    assert examine(job([writer, waiting, waiting])).diagnoses[0].code == "DD232"
