"""Replaying a bundle with any contents gives a report or raises InputError, and nothing else."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.collect import bundle, procfs
from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture, Part, PartKind, Sample
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.errors import InputError
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.evidence import Timing
from ddpdoctor.model.processes import Exit
from ddpdoctor.model.ranks import Rank, Role, Worker
from ddpdoctor.model.report import Report
from ddpdoctor.probe.writer import CALL_KIND, EVENT_KIND, Operation, PageWriter
from ddpdoctor.report import json as json_report
from ddpdoctor.report import terminal
from ddpdoctor.report.terminal_text import Screen

FRAMES = [
    {"filename": "/env/torch/distributed/distributed_c10d.py", "line": 4100, "name": "barrier"},
    {"filename": "/job/train.py", "line": 3, "name": "main"},
]
STACKS = [{"thread_name": "MainThread", "os_thread_id": 7, "active": False, "owns_gil": False, "frames": FRAMES}]
ENTRY = {
    "profiling_name": "gloo:barrier",
    "collective_seq_id": 1,
    "process_group": ["0", "default_pg"],
    "input_sizes": [],
    "input_dtypes": [],
    "retired": False,
    "state": "scheduled",
    "time_created_ns": 1,
    "is_p2p": False,
}


def page(rank: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "1.page"
        facts = {"pid": 7 + rank, "started_ticks": 2, "rank": rank, "world_size": 2, "torch_version": "2.13.0"}
        writer = PageWriter(str(path), dict(facts))
        group = writer.text(("0", "default_pg", ((0, 2),)))
        site = writer.text(("/job/train.py", 3 + rank, "main"))
        operation = Operation(CALL_KIND["all"], writer.text("barrier"), group)
        writer.enter(writer.slot(), operation, (site, 0), EVENT_KIND["call"])
        return path.read_bytes()


@functools.cache
def sound() -> Capture:
    """Two ranks, one in a barrier, one gone; every kind of part is there."""
    workers = tuple(Worker(7 + rank, 1.0, Role.RANK, Rank(rank), rank, 2) for rank in range(2))
    process = procfs.fetch(Worker(os.getpid(), 0.0, Role.RANK, Rank(0)))
    assert isinstance(process, bytes)
    recorder = json.dumps({"version": "2.10", "entries": [ENTRY]}).encode()
    fatal = b'Current thread 0x1 (most recent call first):\n  File "/job/train.py", line 4 in main\n'
    parts = (
        *(Part(PartKind.PAGE, 7 + rank, page(rank)) for rank in range(2)),
        Part(PartKind.RECORDER, 7, recorder),
        Part(PartKind.STACKS, 7, json.dumps(STACKS).encode(), "py-spy --nonblocking"),
        Part(PartKind.PROCESS, 7, process),
        Part(PartKind.FATAL, 8, fatal),
    )
    samples = tuple(Sample(time, workers, parts) for time in (8.0, 9.0))
    timing = Timing(started=0.0, last_progress=4.0, detected=7.0, collected=9.0)
    return Capture(samples, timing, exits=(Exit(8, -6, 8.5),))


@functools.cache
def files() -> tuple[tuple[str, bytes], ...]:
    """The files of an intact bundle, except report.json, which is not read back."""
    with tempfile.TemporaryDirectory() as folder:
        bundle.write(Path(folder) / "b", sound())
        found = (path for path in sorted((Path(folder) / "b").rglob("*")) if path.is_file())
        return tuple((str(path.relative_to(Path(folder) / "b")), path.read_bytes()) for path in found)


def replayed(changed: dict[str, bytes]) -> Report | None:
    """The report; None where the bundle is refused in one line."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (dict(files()) | changed).items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        try:
            capture = bundle.read(Path(folder))
        except InputError as error:
            refusal = error.message
        else:
            refusal = ""
    assert "\n" not in refusal
    if refusal:
        return None
    report = examine(assemble(capture))
    json.loads(json_report.render(report))
    assert "\x1b" not in terminal.render(report, Screen(80))
    return report


def test_the_sound_bundle_is_judged() -> None:
    report = replayed({})
    assert report is not None
    assert report.outcome is Outcome.CRASH
    assert report.diagnoses[0].culprits.members == (1,)


@given(st.data())
def test_a_few_changed_bytes(data: st.DataObject) -> None:
    name, old = data.draw(st.sampled_from(files()))
    start = data.draw(st.integers(0, min(len(old), 2000)))
    cut = data.draw(st.integers(0, 8))
    replayed({name: old[:start] + data.draw(st.binary(max_size=8)) + old[start + cut :]})


@given(st.data())
def test_a_file_that_breaks_off_or_holds_something_else(data: st.DataObject) -> None:
    name, old = data.draw(st.sampled_from(files()))
    replayed({name: data.draw(st.one_of(st.integers(0, len(old)).map(lambda end: old[:end]), st.binary(max_size=64)))})


#: what JSON may hold where something else was meant
STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.just([]),
    st.just({}),
    st.just([[]]),
    st.just({"a": [1]}),
)


@given(st.data())
def test_a_strange_value_anywhere_in_a_json_file(data: st.DataObject) -> None:
    name, old = data.draw(st.sampled_from([entry for entry in files() if entry[0].endswith(".json")]))
    loaded = json.loads(old)
    places = list(_places(loaded))
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = data.draw(STRANGE)
    replayed({name: json.dumps(loaded).encode()})


@pytest.mark.parametrize("size", [2**40, 2**70])
def test_a_number_of_ranks_that_no_job_has_costs_nothing(size: int) -> None:
    """Ranks were counted out one by one, until the memory of the machine was used up."""
    (old,) = (old for name, old in files() if name == "manifest.json")
    loaded = json.loads(old)
    for holder, key in _places(loaded):
        if key == "world_size":
            holder[key] = size
    report = replayed({"manifest.json": json.dumps(loaded).encode()})
    assert report is not None
    assert report.diagnoses[0].culprits.members == (1,)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in ((value, key), *_places(inner))]
