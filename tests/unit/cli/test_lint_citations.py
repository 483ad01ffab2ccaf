"""A diagnosis cites lint's findings at its lines, from the source in the report alone."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import pytest

from ddpdoctor.cli.lint_citations import UNFINISHED, with_lint_findings
from ddpdoctor.model.diagnosis import Confidence, Location
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import Report
from ddpdoctor.report import terminal
from ddpdoctor.report.terminal_text import Screen
from tests.golden.reports import hang_certain

FILE = "/nowhere/train.py"
BRANCH = """import torch.distributed as dist


def save(rank):
    print(rank)


def main():
    rank = dist.get_rank()
    save(rank)
    if rank == 0:
        dist.barrier()


main()
"""


def _report(code: str, line: int, text: str = BRANCH, *, changed: bool = False) -> Report:
    report = hang_certain()
    place = Location(RankSet.of([0]), FILE, line, "main")
    diagnosis = dataclasses.replace(report.diagnoses[0], code=code, locations=(place,), lint=())
    return dataclasses.replace(report, diagnoses=(diagnosis,), code={FILE: SourceFile(FILE, text, changed=changed)})


def _codes(report: Report) -> list[str]:
    return [finding.code for finding in with_lint_findings(report).diagnoses[0].lint]


def test_the_finding_at_the_line_is_cited() -> None:
    report = with_lint_findings(_report("DD203", 12))
    (finding,) = report.diagnoses[0].lint
    assert (finding.code, finding.file, finding.line) == ("DD111", FILE, 12)
    shown = terminal.render(report, Screen(100))
    assert "`ddpdoctor lint` reports this line as DD111." in " ".join(shown.split())


def test_the_branch_that_a_finding_names_is_enough_where_both_are_of_one_fault() -> None:
    report = with_lint_findings(_report("DD203", 11))
    assert [finding.code for finding in report.diagnoses[0].lint] == ["DD111"]
    shown = terminal.render(report, Screen(100))
    assert "finds it before the launch: DD111 at train.py:12." in " ".join(shown.split())
    assert _codes(_report("DD231", 11)) == []


def test_an_error_at_the_very_line_is_cited_by_any_diagnosis() -> None:
    assert _codes(_report("DD231", 12)) == ["DD111"]


@pytest.mark.parametrize(
    "report",
    [
        _report("DD203", 5),
        _report("DD203", 12, changed=True),
        _report("DD203", 12, "def main(:\n"),
        _report("DD203", 12, ""),
        dataclasses.replace(_report("DD203", 12), code={}),
        dataclasses.replace(_report("DD203", 12), diagnoses=()),
    ],
    ids=["another line", "changed since", "does not parse", "empty", "source not kept", "no diagnosis"],
)
def test_nothing_is_cited(report: Report) -> None:
    assert with_lint_findings(report) == report


def test_a_silenced_finding_is_not_cited() -> None:
    assert _codes(_report("DD203", 12, BRANCH.replace("barrier()", "barrier()  # ddpdoctor: ignore[DD111]"))) == []


def test_lint_that_fails_or_takes_long_costs_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    report = _report("DD203", 12)
    over = threading.Event()

    def wait(*_: object, **__: object) -> None:
        over.wait(60)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("ddpdoctor.lint.linter.Linter.bytes", wait)
    told = with_lint_findings(report, within=0.1)
    assert told == dataclasses.replace(report, notes=(*report.notes, UNFINISHED.format(0.1)))
    over.set()
    monkeypatch.setattr("ddpdoctor.lint.linter.Linter.bytes", fail)
    assert with_lint_findings(report) == report


def test_only_what_the_report_holds_is_read(tmp_path: Path) -> None:
    """A bundle that is replayed elsewhere must cite the same."""
    (tmp_path / "helpers.py").write_text("import torch.distributed as dist\ndef sync():\n    dist.barrier()\n")
    text = BRANCH.replace("dist.barrier()", "sync()").replace("def save", "from helpers import sync\n\n\ndef save", 1)
    name = str(tmp_path / "train.py")
    report = _report("DD203", 15, text)
    diagnosis = report.diagnoses[0]
    moved = dataclasses.replace(diagnosis, locations=(dataclasses.replace(diagnosis.locations[0], file=name),))
    report = dataclasses.replace(report, diagnoses=(moved,), code={name: SourceFile(name, text)})
    assert _codes(report) == []
    both = {name: SourceFile(name, text)}
    helpers = str(tmp_path / "helpers.py")
    both[helpers] = SourceFile(helpers, (tmp_path / "helpers.py").read_text())
    assert _codes(dataclasses.replace(report, code=both)) == ["DD111"]


MODEL = """import lightning.pytorch as pl


class Net(pl.LightningModule):
    def on_validation_epoch_end(self):
        if self.trainer.is_global_zero:
            self.log("error", 1.0, sync_dist=True)
"""
LAUNCH = "from model import Net\n\ntrainer.fit(Net())\n"


def _in_a_framework(confidence: Confidence, *, apart: bool = False) -> Report:
    """All ranks are in `trainer.fit`, and what rank 0 told it stands in another file."""
    report = _report("DD203", 3, LAUNCH)
    place = report.diagnoses[0].locations[0]
    ranks = tuple(dataclasses.replace(one, location=place) for one in report.ranks)
    if apart:
        ranks = (dataclasses.replace(ranks[0], location=dataclasses.replace(place, line=1)), *ranks[1:])
    diagnosis = dataclasses.replace(report.diagnoses[0], confidence=confidence, culprits=RankSet.of([0]))
    other = "/nowhere/model.py"
    code = {FILE: SourceFile(FILE, LAUNCH), other: SourceFile(other, MODEL)}
    return dataclasses.replace(report, ranks=ranks, diagnoses=(diagnosis,), code=code)


def test_what_a_framework_was_told_is_shown_where_the_stacks_tell_nothing() -> None:
    found = with_lint_findings(_in_a_framework(Confidence.LIKELY)).diagnoses[0]
    place = found.locations[0]
    assert (place.file, place.line, place.ranks.members) == ("/nowhere/model.py", 7, (0,))
    assert place.source == 'self.log("error", 1.0, sync_dist=True)'
    assert [finding.code for finding in found.lint] == ["DD111"]


@pytest.mark.parametrize(
    "report",
    [_in_a_framework(Confidence.CERTAIN), _in_a_framework(Confidence.LIKELY, apart=True)],
    ids=["proven elsewhere", "the ranks stand apart"],
)
def test_nothing_is_moved_where_the_place_is_known(report: Report) -> None:
    assert with_lint_findings(report).diagnoses[0].locations == report.diagnoses[0].locations
