"""What `dump` says where there is nothing to look at, or too much."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddpdoctor.cli import main
from ddpdoctor.launch import host_jobs
from ddpdoctor.launch.host_jobs import HostJob


def job(pid: int, name: str = "train.py", uid: int = 1000, run: str = "") -> HostJob:
    return HostJob(name, (run,) if run else (), (pid,), (pid + 1, pid + 2), 2, uid, 0.0, ("torchrun", name))


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[HostJob]:
    """The jobs of the host, of a user with the id 1000."""
    jobs: list[HostJob] = []
    monkeypatch.setattr(host_jobs, "find", lambda processes: tuple(jobs))
    monkeypatch.setattr(host_jobs, "processes_of_host", dict)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.delenv("SUDO_UID", raising=False)
    return jobs


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main.main(["dump", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_no_job_is_one_line(found: list[HostJob], capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys)
    assert "no distributed job is running on this host" in text
    assert text.count("\n") == 1


@pytest.mark.parametrize("caller", [1000, 0])
def test_without_a_name_only_one_s_own_jobs_are_meant(
    caller: int, found: list[HostJob], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also root's own are only root's."""
    monkeypatch.setattr("os.geteuid", lambda: caller)
    found.append(job(4711, uid=1001))
    text = said(capsys)
    assert "for your user; 1 of others" in text
    assert "4711" in text


def test_under_sudo_the_caller_s_jobs_are_one_s_own(
    found: list[HostJob], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", "1000")
    found.extend([job(4711), job(4811, "eval.py")])
    assert "2 jobs run on this host" in said(capsys)


def test_several_jobs_are_listed(found: list[HostJob], capsys: pytest.CaptureFixture[str]) -> None:
    found.extend([job(4711), job(4811, "eval.py")])
    lines = said(capsys).splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["4711", "train.py"], ["4811", "eval.py"]]


def test_several_jobs_of_one_name_are_listed(found: list[HostJob], capsys: pytest.CaptureFixture[str]) -> None:
    found.extend([job(4711), job(4811)])
    assert "2 jobs are called 'train'" in said(capsys, "train")


def test_one_report_is_written_for_one_job(found: list[HostJob], capsys: pytest.CaptureFixture[str]) -> None:
    found.extend([job(4711), job(4811)])
    assert "one report only: 2 jobs are meant" in said(capsys, "--all", "--json")
    assert "one report only: 2 jobs are meant" in said(capsys, "--all", "--html", "page.html")


def test_a_pid_after_json_is_no_file(
    found: list[HostJob], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "`ddpdoctor dump 4711 --json`" in said(capsys, "--json", "4711")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wait", ["0", "-1", "soon"])
def test_a_wait_is_a_duration(wait: str, found: list[HostJob], capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not a duration" in said(capsys, f"--wait={wait}")


def test_a_job_that_ended_between_being_found_and_being_looked_at(
    found: list[HostJob], capsys: pytest.CaptureFixture[str]
) -> None:
    found.append(job(4_194_303))
    assert "has just ended" in said(capsys)
