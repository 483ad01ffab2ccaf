"""Dumps read by worker processes: a bad file is reported and the others are read."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path

import pytest

from benchmarks.dumps.__main__ import write
from benchmarks.dumps.jobs import Family, job
from ddpdoctor.archive import parallel_dumps, resource_limits
from ddpdoctor.archive.fragment import Format
from ddpdoctor.archive.input_files import InputFile
from ddpdoctor.archive.rank_from_filename import rank_of

HOSTILE = {
    "memo": b"\x80\x02}r\xff\xff\xff\x7f.",
    "bytearray": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b".",
    "deep tuple as a key": b"\x80\x02}" + b")" + b"\x85" * 3_000_000 + b"K\x01s.",
    "lists": b"\x80\x02" + b"]" * 60_000_000 + b".",
    "nothing": b"",
    "code": b"\x80\x02cos\nsystem\n.",
}


def files(folder: Path) -> list[InputFile]:
    return [InputFile(path.name, path, Format.RECORDER_PICKLE) for path in sorted(folder.iterdir())]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(job(Family.MISSING, 64, 30), tmp_path)
    return tmp_path


@pytest.mark.parametrize("processes", [1, 3])
def test_all_ranks_are_read_and_equal_rings_are_one(folder: Path, processes: int) -> None:
    dumps = parallel_dumps.read_all(files(folder), rank_of, processes=processes)
    assert sorted(dumps.members) == list(range(64))
    assert dumps.recorders().world_size == 64
    assert dumps.gaps == ()
    assert str(dumps.by_name) == "0-63"
    rings = {id(member.ring) for member in dumps.members.values()}
    assert len(rings) == 3  # the culprit, its data-parallel peers, all others
    groups = {id(group) for member in dumps.members.values() for group in member.groups}
    assert len(groups) == 1 + 8 + 8


def test_hostile_files_are_named_and_the_others_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_limits, "MOST_MEMORY", 1 << 28)
    for number, (name, data) in enumerate(HOSTILE.items()):
        (folder / f"{name}_rank_{100 + number}").write_bytes(data)
    dumps = parallel_dumps.read_all(files(folder), rank_of, processes=2)
    assert sorted(dumps.members) == list(range(64))
    assert {gap.rank for gap in dumps.gaps} == {100 + number for number in range(len(HOSTILE))}
    assert not any("\n" in gap.reason for gap in dumps.gaps)


def test_a_file_that_takes_too_long_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing tuples that share their parts takes time without end, and almost no bytes."""
    monkeypatch.setattr(resource_limits, "MOST_SECONDS", 0.5)
    bomb = b"\x80\x02K\x01" + b"q\x00h\x00\x86" * 60
    (folder / "slow_rank_100").write_bytes(b"\x80\x02}" + bomb[2:] + b"K\x01s.")
    dumps = parallel_dumps.read_all(files(folder), rank_of, processes=2)
    assert len(dumps.members) == 64
    assert [(gap.rank, "too" in gap.reason or "more than" in gap.reason) for gap in dumps.gaps] == [(100, True)]


def test_many_files_that_end_the_reader_do_not_keep_it_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_dumps, "MOST_DEATHS", 2)
    for rank in range(8):
        (tmp_path / f"rank_{rank}").write_bytes(HOSTILE["deep tuple as a key"])
    dumps = parallel_dumps.read_all(files(tmp_path), rank_of, processes=1)
    assert not dumps.members
    assert len(dumps.gaps) == 8


def test_a_dump_without_operations_is_a_gap_and_no_rank(folder: Path) -> None:
    (folder / "nccl_trace_rank_7").write_bytes(pickle.dumps({"version": "2.1", "pg_config": {}, "entries": []}, 2))
    dumps = parallel_dumps.read_all(files(folder), rank_of)
    assert 7 not in dumps.members
    assert [gap.rank for gap in dumps.gaps] == [7]
    assert "TORCH_FR_BUFFER_SIZE" in dumps.gaps[0].remedy


def test_of_two_dumps_of_a_rank_the_younger_counts(folder: Path) -> None:
    older = pickle.loads((folder / "nccl_trace_rank_3").read_bytes())
    older["entries"] = older["entries"][:10]
    (folder / "attempt_0_rank_3").write_bytes(pickle.dumps(older, 2))
    dumps = parallel_dumps.read_all(files(folder), rank_of)
    assert len(dumps.members[3].ring.steps) == 30  # type: ignore[index]
    assert [gap.rank for gap in dumps.gaps] == [3]


def test_a_dump_that_an_earlier_run_left_is_not_used(folder: Path) -> None:
    older = pickle.loads((folder / "nccl_trace_rank_3").read_bytes())
    for entry in older["entries"]:
        entry["time_created_ns"] -= 2 * parallel_dumps.OTHER_RUN_NS
    (folder / "nccl_trace_rank_3").write_bytes(pickle.dumps(older, 2))
    dumps = parallel_dumps.read_all(files(folder), rank_of)
    assert 3 not in dumps.members
    assert [(gap.rank, "earlier run" in gap.reason) for gap in dumps.gaps] == [(3, True)]


def test_no_files_need_no_process() -> None:
    assert parallel_dumps.read_all([], rank_of).members == {}
