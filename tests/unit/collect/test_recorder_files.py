"""Recorder files of processes that nobody prepared: which file counts, who is asked, and what is refused."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ddpdoctor.archive.recorder_json import reduced
from ddpdoctor.collect import flight_recorder, recorder_files
from ddpdoctor.model.evidence import Gap
from ddpdoctor.model.ranks import Rank, Role, Worker

#: as torch 2.13 writes it
ENTRY = {
    "profiling_name": "nccl:all_reduce",
    "process_group": ("0", "default_pg"),
    "pg_id": 0,
    "collective_seq_id": 7,
    "p2p_seq_id": 0,
    "time_created_ns": 1,
    "input_sizes": [[4]],
    "input_dtypes": ["Float"],
    "state": "started",
    "retired": False,
    "is_p2p": False,
    "frames": [],
}
DUMP = pickle.dumps({"version": "2.10", "entries": [ENTRY]}, 2)
SERVE = """
import os, sys, time
os.mkfifo("p3.pipe")
reader = os.open("p3.pipe", os.O_RDONLY | os.O_NONBLOCK)
print("ready", flush=True)
while True:
    time.sleep(0.02)
    if os.read(reader, 128) and sys.argv[1] == "answers":
        open("f3", "wb").write(bytes.fromhex(sys.argv[2]))
"""
SLEEP = "import time; print('ready', flush=True); time.sleep(1000)"


@contextmanager
def rank(
    folder: Path, environ: Mapping[str, str], program: str = SLEEP, *arguments: str, number: int = 3, age: float = 0.0
) -> Iterator[Worker]:
    """A process that plays a rank; it says that it has run for `age` seconds more."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], cwd=folder, env=dict(environ), stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield Worker(process.pid, psutil.Process(process.pid).create_time() - age, Role.RANK, Rank(number))
    finally:
        process.kill()
        process.communicate()


def seq(taken: recorder_files.Recorders, worker: Worker) -> int:
    data = taken.parts[worker.pid]
    assert isinstance(data, bytes), data
    return flight_recorder.parse(data).entries[-1].seq


@pytest.mark.parametrize("name", ["TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"])
def test_a_file_of_this_life_is_taken(name: str, tmp_path: Path) -> None:
    with rank(tmp_path, {name: str(tmp_path / "f")}) as worker:
        assert recorder_files.collect([worker]).parts == {}
        (tmp_path / "f3").write_bytes(DUMP)
        assert seq(recorder_files.collect([worker]), worker) == 7


def test_torch_s_own_folder_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    with rank(tmp_path, {"XDG_CACHE_HOME": str(tmp_path)}) as worker:
        (tmp_path / "torch" / "comm_lib_trace_rank_3").write_bytes(DUMP)
        assert seq(recorder_files.collect([worker]), worker) == 7


def test_a_file_of_an_earlier_life_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "f3").write_bytes(DUMP)
    os.utime(tmp_path / "f3", (time.time() - 60, time.time() - 60))
    with rank(tmp_path, {"TORCH_FR_DUMP_TEMP_FILE": "f"}) as worker:
        assert recorder_files.collect([worker]).parts == {}


DAY = 86400.0


def written(file: Path, ago: float) -> None:
    file.write_bytes(DUMP)
    os.utime(file, (time.time() - ago, time.time() - ago))


def test_the_age_of_an_old_file_is_told(tmp_path: Path) -> None:
    """Those of one event are one line."""
    environ = {"TORCH_FR_DUMP_TEMP_FILE": "f"}
    with (
        rank(tmp_path, environ, number=2, age=DAY) as two,
        rank(tmp_path, environ, age=DAY) as three,
    ):
        written(tmp_path / "f2", 3 * 3600 + 10)
        alone = recorder_files.collect([two, three])
        written(tmp_path / "f3", 3 * 3600 + 9)
        both = recorder_files.collect([two, three])
        written(tmp_path / "f2", 1)
        written(tmp_path / "f3", 0)
        fresh = recorder_files.collect([two, three])
    assert seq(alone, two) == seq(both, two) == seq(both, three) == 7
    assert alone.notes == ("the recorder file of rank 2 was written 3 h ago: what came since is not in it",)
    assert both.notes == ("the recorder files of ranks 2-3 were written 3 h ago: what came since is not in them",)
    assert fresh.notes == ()


def test_files_of_two_events_are_not_compared(tmp_path: Path) -> None:
    """What rank 2 wrote at a time limit that the job survived is no position to hold against rank 3's of now."""
    environ = {"TORCH_FR_DUMP_TEMP_FILE": "f"}
    with (
        rank(tmp_path, environ, number=2, age=DAY) as two,
        rank(tmp_path, environ, age=DAY) as three,
    ):
        written(tmp_path / "f2", 3 * 3600)
        written(tmp_path / "f3", 0)
        found = recorder_files.collect([two, three])
    assert seq(found, three) == 7
    left = found.parts[two.pid]
    assert isinstance(left, Gap)
    assert left.reason == "its file was written 3 h ago, 3 h before another rank's: left aside"
    assert found.notes == ()


def test_a_file_written_meanwhile_is_noticed(tmp_path: Path) -> None:
    with rank(tmp_path, {"TORCH_FR_DUMP_TEMP_FILE": "f"}, age=DAY) as worker:
        assert not recorder_files.wrote_since([worker], 1.0)
        written(tmp_path / "f3", 60)
        assert recorder_files.wrote_since([worker], time.time() - 61)
        assert not recorder_files.wrote_since([worker], time.time() - 59)


def test_a_pipe_is_asked_and_its_file_read(tmp_path: Path) -> None:
    environ = {"TORCH_FR_DUMP_TEMP_FILE": "f", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": str(tmp_path / "p")}
    with rank(tmp_path, environ, SERVE, "answers", DUMP.hex()) as worker:
        assert seq(recorder_files.collect([worker]), worker) == 7


def test_who_does_not_answer_is_waited_for_no_longer_than_said(tmp_path: Path) -> None:
    """Nor is an old file taken for the answer."""
    environ = {"TORCH_FR_DUMP_TEMP_FILE": "f", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": "p"}
    with rank(tmp_path, environ, SERVE, "is silent") as worker:
        (tmp_path / "f3").write_bytes(DUMP)
        taken = recorder_files.collect([worker], patience=0.5).parts[worker.pid]
    assert isinstance(taken, Gap)
    assert "no file came within 0.5 s; the one of " in taken.reason
    assert taken.reason.endswith(" ago is left aside")


def test_a_pipe_that_nobody_reads_does_not_hold_up_the_look(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p3.pipe")
    with rank(tmp_path, {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE": str(tmp_path / "p"), "HOME": str(tmp_path)}) as worker:
        assert recorder_files.collect([worker]).parts == {}


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_only_a_regular_file_is_read(kind: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(DUMP)
    with rank(tmp_path, {"TORCH_FR_DUMP_TEMP_FILE": str(tmp_path / "f")}) as worker:
        if kind == "link":
            (tmp_path / "f3").symlink_to(tmp_path / "elsewhere")
        elif kind == "pipe":
            os.mkfifo(tmp_path / "f3")
        else:
            (tmp_path / "f3").mkdir()
        assert recorder_files.collect([worker]).parts == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user, as root")
def test_another_user_s_file_is_not_read(tmp_path: Path) -> None:
    with rank(tmp_path, {"TORCH_FR_DUMP_TEMP_FILE": str(tmp_path / "f")}) as worker:
        (tmp_path / "f3").write_bytes(DUMP)
        os.chown(tmp_path / "f3", 65534, 65534)
        assert recorder_files.collect([worker]).parts == {}


class _Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch evil",)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80garbage",
        DUMP[:-9],
        b"[1]",
        pickle.dumps({"version": "2.10", "entries": _Evil()}),
        # one memo index that asks for gigabytes
        b"\x80\x02}r\xff\xff\xff\xff.",
    ],
)
def test_what_is_no_dump_is_a_gap(data: bytes, tmp_path: Path) -> None:
    with rank(tmp_path, {"TORCH_FR_DUMP_TEMP_FILE": str(tmp_path / "f")}) as worker:
        (tmp_path / "f3").write_bytes(data)
        taken = recorder_files.collect([worker]).parts[worker.pid]
    assert isinstance(taken, Gap)
    assert not list(tmp_path.glob("evil"))


def test_nothing_else_of_a_dump_is_kept() -> None:
    """The code's own lines and what a crafted dump nests deeply stay behind."""
    kept = reduced(pickle.dumps({"version": "2.10", "secret": "hunter2", "entries": [{**ENTRY, "more": "hunter2"}]}))
    assert "hunter2" not in json.dumps(kept)
    nested: list[object] = []
    for _ in range(40):
        nested = [nested, nested]
    with pytest.raises(ValueError, match="not a value"):
        reduced(pickle.dumps({"version": "2.10", "entries": [{**ENTRY, "state": nested}]}))
