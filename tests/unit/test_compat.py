"""`make compat`: the jobs, what counts as explained, what is kept, and the page."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import sys
from pathlib import Path

import pytest

from benchmarks import compat, compat_page, measured
from benchmarks.compat_cases import JOBS
from benchmarks.compat_page import NO_ENVIRONMENT, PYTHONS, TORCHES, Row
from benchmarks.ledger import Ledger
from ddpdoctor.model.codec import decode

ROOT = Path(__file__).parents[2]
ABOUTS = {job.name: job.about for job in JOBS}
FIRST = JOBS[0].name
GAP = "recorder: this torch does not record gloo's operations"
WELL = Row(
    *("2.13.0", "2.13.0+cpu", "3.11.7", "6.1", FIRST, "hang", "DD203", "certain"),
    culprits=(0,),
    deadlock="proven",
    silence=4.2,
    engine=measured.engine(),
    commit="abc",
)
UNPROVEN = dataclasses.replace(
    WELL,
    torch="2.5.1",
    build="2.5.1+cu124",
    deadlock="suspected",
    silence=31.4,
    missed={"deadlock": ("proven", "suspected"), "time": ("within 6 s", "31.4 s")},
    gaps=(GAP,),
)
OTHER = dataclasses.replace(UNPROVEN, code="DD299", missed={**UNPROVEN.missed, "code": ("DD203", "DD299")})
LACKING = dataclasses.replace(UNPROVEN, missed={}, lacks="this torch has no torch.distributed.fsdp.fully_shard")
NOT_MADE = dataclasses.replace(WELL, python="3.10.13", case=NO_ENVIRONMENT, lacks="no such build")


def table(rows: list[Row], first: str) -> list[str]:
    """The cells of the first line of the page that begins with `first`."""
    line = next(line for line in compat_page.page(rows, ABOUTS).splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def test_there_are_twelve_jobs_and_their_fixtures_need_nothing_but_torch() -> None:
    assert len(JOBS) == len(ABOUTS) == 12
    assert not [job.name for job in JOBS if job.case.needed]


@pytest.mark.parametrize(
    ("row", "said", "miss", "unexplained"),
    [
        (WELL, "yes", False, False),
        (UNPROVEN, "suspected, 31 s", True, False),
        (dataclasses.replace(UNPROVEN, silence=None), "suspected", True, False),
        (dataclasses.replace(UNPROVEN, gaps=()), "suspected, 31 s", True, True),
        (dataclasses.replace(WELL, missed={"time": ("within 6 s", "7.0 s")}, silence=7.0), "late, 7 s", True, False),
        (
            dataclasses.replace(WELL, missed={"time": ("within 6 s", "not said")}, silence=None),
            "yes, untimed",
            True,
            False,
        ),
        (OTHER, "code: DD299", True, False),
        (dataclasses.replace(OTHER, wrongly_certain=True), "**wrong**: DD299", True, True),
        (LACKING, "not in it", False, False),
    ],
)
def test_how_a_job_came_out(row: Row, said: str, miss: bool, unexplained: bool) -> None:
    assert (compat_page.cell(row), row.is_miss, row.is_unexplained) == (said, miss, unexplained)


def test_versions_are_in_the_order_of_their_numbers() -> None:
    rows = [dataclasses.replace(WELL, torch=torch) for torch in ("2.13.0", "2.9.1", "2.11.0")]
    assert table(rows, "torch") == ["", "2.9.1", "2.11.0", "2.13.0"]


def test_what_was_not_run_is_said() -> None:
    assert table([WELL, UNPROVEN], FIRST) == [ABOUTS[FIRST], "suspected, 31 s", "yes"]
    assert set(table([WELL, UNPROVEN], JOBS[1].name)[1:]) == {"not run"}
    assert table([WELL, NOT_MADE], "2.13.0") == ["no such build", "1 of 1, 11 not run", "not run", "not run"]
    assert table([WELL], "2.7.1") == ["not run"] * len(PYTHONS)


def test_what_degrades_is_told_with_the_gaps_of_its_report() -> None:
    text = compat_page.page([WELL, UNPROVEN, dataclasses.replace(LACKING, case="dump")], ABOUTS)
    told = text.partition("## What degrades")[2].partition("\n## ")[0]
    assert "torch 2.5.1, Python 3.11.7" in told
    assert "2.13.0" not in told
    assert f"- {FIRST}: deadlock suspected, expected proven; told later than promised. Gaps: {GAP}." in told
    assert f"- dump: {LACKING.lacks}" in told
    assert "Nothing." in compat_page.page([WELL], ABOUTS)


def test_newer_results_take_the_place_of_older_ones() -> None:
    newer = dataclasses.replace(WELL, commit="def")
    other = dataclasses.replace(WELL, case="dump")
    assert compat.merged([WELL, other], [newer]) == [newer, other]
    # an environment that could be made after all
    assert compat.merged([NOT_MADE], [dataclasses.replace(WELL, python="3.10.13")]) != [NOT_MADE]
    assert compat.merged([WELL], [NOT_MADE]) == [WELL, NOT_MADE]


def test_results_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "compat.jsonl"
    read = functools.partial(decode, Row)
    Ledger(file, read).add(OTHER)
    assert Ledger(file, read).results == [OTHER]


def test_the_page_is_that_of_the_committed_results() -> None:
    rows = [decode(Row, json.loads(line)) for line in compat.COMMITTED.read_text(encoding="utf-8").splitlines()]
    assert compat.PAGE.read_text(encoding="utf-8") == compat_page.page(rows, ABOUTS)


def test_builds_of_one_version_have_an_order() -> None:
    """Whatever a set gives first: strings have other hashes in each process."""
    builds = ("2.13.0", "2.13.0+cpu", "2.13.0+cu128")
    rows = [dataclasses.replace(WELL, build=build, python=f"3.1{n}.0") for n, build in enumerate(builds[::-1])]
    assert f"torch {', '.join(builds)};" in compat_page.page(rows, ABOUTS)


def test_the_workflow_runs_every_version_of_the_page() -> None:
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    (matrix,) = re.findall(r"^ +torch: \[(.*)\]\n +python: \[(.*)\]$", workflow, re.MULTILINE)
    torches, pythons = (tuple(re.findall(r'"(.+?)"', names)) for names in matrix)
    assert (torches, pythons) == ((*TORCHES, compat.NEWEST), PYTHONS)


def test_an_environment_leads_to_no_packages_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://example.org")
    environ = compat.plain()
    assert "PYTHONPATH" not in environ
    assert environ["PIP_EXTRA_INDEX_URL"] == "https://example.org"


def test_a_python_that_does_not_work_is_one_clear_line() -> None:
    assert compat.asked(sys.executable, "print(6 * 7)") == "42"
    with pytest.raises(SystemExit, match="does not work"):
        compat.asked(sys.executable, "raise SystemExit('no')")
