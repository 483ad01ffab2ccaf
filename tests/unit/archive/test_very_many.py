"""Hundreds of dumps with one stack: the recorders show which rank is missing, its stack shows why."""

from __future__ import annotations

import io
from pathlib import Path

from benchmarks.dumps.__main__ import write
from benchmarks.dumps.jobs import Family, job
from ddpdoctor.archive import input_files, pipeline
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import Report

STACK = """Process 4711: python train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 4711 (idle): "MainThread"
    read (ssl.py:1159)
    readinto (socket.py:706)
    begin (http/client.py:318)
    upload (/job/train.py:70)
    <module> (/job/train.py:97)
"""


def diagnose(folder: Path) -> Report:
    return pipeline.diagnose(input_files.find([str(folder)], io.BytesIO()))


def test_a_stack_of_the_missing_rank_gives_the_cause(tmp_path: Path) -> None:
    write(job(Family.MISSING, 512, 20), tmp_path)
    assert [(d.code, d.culprits) for d in diagnose(tmp_path).diagnoses] == [("DD299", RankSet.of([320]))]
    (tmp_path / "stack_rank_320.txt").write_text(STACK)
    report = diagnose(tmp_path)
    assert [(d.code, d.culprits) for d in report.diagnoses] == [
        ("DD233", RankSet.of([320])),
        ("DD299", RankSet.of([320])),
    ]
    assert report.diagnoses[0].confidence is Confidence.LIKELY
    assert len(report.diagnoses[0].waiting) == 511
    assert len(report.ranks) == 512


def test_a_log_that_says_nothing_changes_nothing(tmp_path: Path) -> None:
    write(job(Family.MISSING, 512, 20), tmp_path)
    (tmp_path / "job.log").write_text("[rank7]: epoch 3 loss 0.1\n")
    first = diagnose(tmp_path).diagnoses[0]
    assert (first.code, first.culprits, len(first.waiting)) == ("DD299", RankSet.of([320]), 511)
