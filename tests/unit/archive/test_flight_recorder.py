"""Recorder dumps of every version and backend come out as the same operations."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.dumps.jobs import Family, dumps, job
from benchmarks.dumps.wire import Writer
from ddpdoctor.archive.flight_recorder import RecorderDump, RecorderReader
from ddpdoctor.archive.recorder_values import DumpError

#: field -> format version in which it came
_SINCE = {
    "is_p2p": 2.2,
    "timeout_ms": 2.2,
    "pg_status": 2.3,
    "thread_name": 2.5,
    "thread_id": 2.5,
    "comm_lib_version": 2.9,
}


def synthetic(rank: int = 1, family: Family = Family.MISSING) -> dict[str, Any]:
    for number, head, entries in dumps(job(family, 8, 60)):
        if number == rank:
            return {**head, "entries": [entry for _, entry in entries]}
    raise AssertionError(rank)


def at_version(dump: dict[str, Any], version: str) -> dict[str, Any]:
    """The dump as an older torch would have written it."""
    minor = int(version.partition(".")[2])

    def kept(fields: Mapping[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in fields.items() if minor >= round((_SINCE.get(k, 2) - 2) * 10)}

    older = {**kept(dump), "version": version, "entries": [kept(entry) for entry in dump["entries"]]}
    if minor == 0:
        older.pop("pg_config")
        for entry in older["entries"]:
            entry["seq_id"] = entry.pop("collective_seq_id")
            entry.pop("p2p_seq_id")
    return older


def rows(dump: RecorderDump, reader: RecorderReader) -> list[tuple[Any, ...]]:
    """(group, seq, op, sizes, site, finished) of each operation."""
    found = [reader.rows[number] for number in dump.steps]
    return [(reader.groups[dump.groups[row[0]]][0], row[1], row[2], row[4], row[6], row[7]) for row in found]


@pytest.mark.parametrize("version", [f"2.{minor}" for minor in range(11)])
def test_every_version_gives_the_same_operations(version: str) -> None:
    reader = RecorderReader()
    wanted = rows(reader.read(pickle.dumps(synthetic(), 2)), reader)
    older = reader.read(pickle.dumps(at_version(synthetic(), version), 2))
    assert rows(older, reader) == wanted
    assert older.version == version
    assert older.truncated


def test_the_wire_format_is_that_of_a_plain_pickle() -> None:
    for _, head, entries in dumps(job(Family.PAIR_CYCLE, 8, 60)):
        assert pickle.loads(Writer().dump(head, entries)) == {**head, "entries": [entry for _, entry in entries]}


def test_json_differs_in_the_places_alone() -> None:
    dump = synthetic()
    for entry in dump["entries"]:
        del entry["frames"]
    reader = RecorderReader()
    read = reader.read(json.dumps(dump).encode())
    assert rows(read, reader) == rows(reader.read(pickle.dumps(dump)), reader)
    assert [reader.groups[number][0] for number in read.groups] == ["0", "6", "1"]


def test_the_innermost_frame_of_the_user_is_the_place() -> None:
    reader = RecorderReader()
    read = reader.read(pickle.dumps(synthetic()))
    assert {row[6] for row in reader.rows} == {("/job/train.py", line, "train_step") for line in (31, 36, 44, 52, 53)}
    assert read.rank is None


def test_a_send_tells_whose_dump_it_is() -> None:
    reader = RecorderReader()
    assert [reader.read(pickle.dumps(synthetic(rank, Family.PAIR_CYCLE))).rank for rank in (0, 3, 6)] == [0, 3, None]


def test_gloo_finishes_by_retiring_and_names_no_group() -> None:
    dump = synthetic()
    dump["pg_config"] = {"": {"name": "", "desc": "", "ranks": "[]"}}
    for entry in dump["entries"]:
        entry["profiling_name"] = entry["profiling_name"].replace("nccl", "gloo")
        entry["state"] = "scheduled"
    reader = RecorderReader()
    read = reader.read(pickle.dumps(dump))
    assert [row[5] for row in rows(read, reader)] == [entry["retired"] for entry in dump["entries"]]
    assert {reader.groups[number][1] for number in read.groups} == {()}


def test_on_nccl_retired_without_completed_means_given_up() -> None:
    dump = synthetic()
    dump["entries"][-4].update(state="started", retired=True)
    reader = RecorderReader()
    read = reader.read(pickle.dumps(dump))
    row = reader.rows[read.steps[-4]]
    assert (row[7], row[8]) == (False, True)


def test_operations_of_a_batch_take_the_state_of_its_end() -> None:
    dump = synthetic(0, Family.PAIR_CYCLE)
    pairs = [entry for entry in dump["entries"] if entry["is_p2p"]]
    batch = {**pairs[0], "profiling_name": "nccl:coalesced", "input_sizes": [], "output_sizes": []}
    reader = RecorderReader()
    for state in ("scheduled", "completed"):
        entries = [{**p, "p2p_seq_id": 1, "retired": False, "state": "scheduled"} for p in pairs]
        # torch 2.11 does not call the batch itself a message
        for p2p in (True, False):
            end = {**batch, "p2p_seq_id": 1, "is_p2p": p2p, "state": state, "retired": state == "completed"}
            read = reader.read(pickle.dumps({**dump, "entries": [*entries, end]}))
            assert [reader.rows[number][7] for number in read.steps] == [state == "completed"] * len(pairs)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda dump: dump.update(entries={"a": 1}),
        lambda dump: dump["entries"][3].update(state="sleeping"),
        lambda dump: dump["entries"][3].update(collective_seq_id="4"),
        lambda dump: dump["entries"][3].update(collective_seq_id=1 << 70),
        lambda dump: dump["entries"][3].update(profiling_name=7),
        lambda dump: dump["entries"][3].update(profiling_name="x" * 5000),
        lambda dump: dump["entries"][3].update(input_sizes=[["a"]]),
        lambda dump: dump["entries"][3].update(input_sizes=7),
        lambda dump: dump["entries"][3].update(frames=[{"name": "f"}]),
        lambda dump: dump["entries"][3].pop("process_group"),
        lambda dump: dump["entries"].insert(2, None),
        lambda dump: dump["pg_config"].update({"7": {"name": "7", "desc": "", "ranks": "[0, -1]"}}),
        lambda dump: dump["pg_config"].update({"7": {"name": "7", "desc": "", "ranks": "[0, x]"}}),
        lambda dump: dump["pg_config"].update({"7": []}),
    ],
)
def test_a_spoilt_dump_is_refused_with_one_line(spoil: Any) -> None:
    dump = synthetic()
    spoil(dump)
    with pytest.raises(DumpError) as refused:
        RecorderReader().read(pickle.dumps(dump))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("data", [b"", b"{", b"[1, 2]", b'{"a": 1}', b"\x80\x02]q\x00.", b"hello", b"\x80"])
def test_what_is_no_dump_is_refused(data: bytes) -> None:
    with pytest.raises(DumpError):
        RecorderReader().read(data)


def test_shared_lists_are_counted_and_not_walked() -> None:
    """2**40 leaves in a few hundred bytes: nothing may touch them all."""
    shared: list[Any] = [1]
    for _ in range(40):
        shared = [shared, shared]
    for field in ("input_sizes", "input_dtypes", "process_group", "collective_seq_id", "frames"):
        dump = synthetic()
        dump["entries"][5][field] = shared
        with pytest.raises(DumpError):
            RecorderReader().read(pickle.dumps(dump, 2))
    dump = synthetic()
    dump["entries"][5]["input_sizes"] = [[8] * 4000] * 4000
    with pytest.raises(DumpError, match="tensor sizes"):
        RecorderReader().read(pickle.dumps(dump, 2))


def test_sizes_that_are_each_ranks_own_do_not_make_kinds() -> None:
    reader = RecorderReader()
    for rank in range(4):
        dump = synthetic()
        for entry in dump["entries"]:
            entry.update(profiling_name="nccl:all_to_all", input_sizes=[[rank, entry["record_id"]]])
        reader.read(pickle.dumps(dump, 2))
    assert len(reader.rows) == 60
