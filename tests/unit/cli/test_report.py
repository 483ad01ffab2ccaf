"""`ddpdoctor report`, and the files that --json and --html name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ddpdoctor.cli import forms, main
from ddpdoctor.collect import bundle
from ddpdoctor.collect.capture import Capture, Sample
from ddpdoctor.errors import InputError
from ddpdoctor.model.evidence import Timing
from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.ranks import Rank, Role, Worker
from ddpdoctor.report import json as report_json
from tests.golden.reports import REPORTS

HANG = REPORTS["hang-certain"]
#: how the text of each form begins
BEGINNINGS = {
    "text": "ddpdoctor: HANG - rank 0 is in barrier",
    "terminal": "ddpdoctor: HANG - rank 0 is in barrier",
    "markdown": "### ddpdoctor: HANG",
    "html": "<!doctype html>",
    "json": '{\n  "schema": "ddpdoctor.report/2"',
    "junit": "<?xml",
    "trace": '{"displayTimeUnit": "ms"',
}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(report_json.render(HANG))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bundle of two ranks of which nothing could be seen."""
    workers = tuple(Worker(pid, 1.0, Role.RANK, Rank(pid - 10), 0, 2) for pid in (10, 11))
    sample = Sample(9.0, workers, ())
    bundle.write(tmp_path / "bundle", Capture((sample,), Timing(1.0, 5.0, 8.0, 9.0), command=("torchrun", "a.py")))
    return tmp_path / "bundle"


@pytest.mark.parametrize("form", BEGINNINGS)
def test_a_kept_report_in_every_form(form: str, kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["report", str(kept), "-f", form]) == 0
    assert capsys.readouterr().out.startswith(BEGINNINGS[form])


@pytest.mark.parametrize("form", forms.FORMS)
def test_a_bundle_in_every_form(form: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / f"report.{form}"
    assert main.main(["report", str(folder), "--format", form, "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert target.read_text().startswith(BEGINNINGS[form][:9])
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["report", "{}/none"], "No such file"),
        (["report", "{}/a.txt"], "is not a report of ddpdoctor"),
        (["report", "{}"], "is not a bundle"),
        (["report", "{}/report.json", "-f", "pdf"], "'pdf' is not one of text, markdown, html, json, junit, trace"),
        (["report", "{}/report.json", "-o", "{}/no/such"], "cannot write"),
        (["report"], "required: BUNDLE"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(
    argv: list[str], said: str, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kept.parent / "a.txt").write_text("{}")
    assert main.main([word.format(kept.parent) for word in argv]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert said in printed.err


def test_diagnose_writes_files_beside_the_screen(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, report = tmp_path / "a.html", tmp_path / "a.json"
    status = main.main(["diagnose", str(folder), "--html", str(page), "--json", str(report)])
    assert page.read_text().startswith("<!doctype html>")
    outcome = json.loads(report.read_text())["outcome"]
    assert status == int(outcome != "healthy")
    assert capsys.readouterr().out.startswith(f"ddpdoctor: {outcome.upper()}")
    main.main(["diagnose", str(folder), "--html", "-"])
    assert capsys.readouterr().out.startswith("<!doctype html>")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")

    def full(path: Path, *args: object, **options: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(InputError, match="No space left"):
        forms.write(str(target), forms.render("html", Exhibit(HANG), {}))
    assert target.read_text() == "old"
