"""What a rank sleeps on, with real processes: the lock's owner, the pipe's reader, the other end of a connection."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.e2e.job import STARTUP, Run, is_told, torchrun, watch

PROGRAM = Path(__file__).with_name("held_up.py")


def _run(way: str, folder: Path, *, behind: str = "", culprit: int = 1) -> Run:
    command = torchrun(PROGRAM, 3, way, str(folder))
    if behind:
        command = ["sh", "-c", f"{shlex.join(command)} {behind}"]
    run = watch(
        command, folder, "--stall-after", "10", timeout=STARTUP + 60, until=lambda report: is_told(report, "hang")
    )
    assert (run.report["outcome"], run.report["deadlock"]) == ("hang", "suspected"), run.explain()
    assert run.first["culprits"] == [culprit], run.explain()
    return run


def _line(run: Run) -> str:
    location = run.first["locations"][0]
    return PROGRAM.read_text(encoding="utf-8").splitlines()[int(location["line"]) - 1]


def test_a_lock_of_a_file(tmp_path: Path) -> None:
    run = _run("kernel-lock", tmp_path)
    assert (run.first["code"], "the first rank has it" in _line(run)) == ("DD238", True), run.explain()
    assert "held by rank 0 (process" in run.first["why"], run.explain()
    assert "in barrier" in run.first["why"], run.explain()


def test_a_lock_between_threads(tmp_path: Path) -> None:
    run = _run("thread-lock", tmp_path)
    assert (run.first["code"], "the journal has it" in _line(run)) == ("DD238", True), run.explain()
    assert "which thread journal of it holds" in run.first["summary"], run.explain()


def test_a_file_that_is_polled_for(tmp_path: Path) -> None:
    run = _run("polled-lock", tmp_path)
    assert (run.first["code"], "nobody removes it" in _line(run)) == ("DD238", True), run.explain()
    assert "`lock.exists()`" in run.first["summary"], run.explain()


def test_a_connection_between_ranks(tmp_path: Path) -> None:
    run = _run("connection", tmp_path)
    assert (run.first["code"], "says nothing" in _line(run)) == ("DD299", True), run.explain()
    assert "waits for rank 0 over one of the program's own connections" in run.first["why"], run.explain()


def test_a_pipe_whose_reader_is_no_part_of_the_job(tmp_path: Path) -> None:
    run = _run("output", tmp_path, behind="| sleep 200")
    assert (run.first["code"], "flush" in _line(run) or "a pipe holds" in _line(run)) == ("DD239", True), run.explain()
    assert "(sleep 200), outside the job" in run.first["why"], run.explain()


def test_a_child_that_does_not_end(tmp_path: Path) -> None:
    run = _run("child", tmp_path)
    assert (run.first["code"], "does not end" in _line(run)) == ("DD299", True), run.explain()
    assert "wait4, for the exit of process" in run.first["why"], run.explain()
    assert "a child of rank 1" in run.first["why"], run.explain()


def test_a_key_that_nobody_sets(tmp_path: Path) -> None:
    run = _run("store-key", tmp_path, culprit=2)
    assert run.first["code"] == "DD299", run.explain()
    assert "rank 0 waits in get for the store's key 'part/2'" in run.first["summary"], run.explain()
    assert "under `if rank < size - 1`" in run.first["why"], run.explain()
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    assert "the last is left out" in lines[run.first["locations"][1]["line"] - 1], run.explain()
