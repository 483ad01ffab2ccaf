"""Any bytes as a recorder dump are read or rejected with one line, and nothing in them is executed."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.dumps.jobs import Family, dumps, job
from benchmarks.dumps.wire import Writer
from ddpdoctor.archive import parallel_dumps
from ddpdoctor.archive.flight_recorder import RecorderReader, step_of
from ddpdoctor.archive.fragment import Format
from ddpdoctor.archive.input_files import InputFile
from ddpdoctor.archive.rank_from_filename import rank_of
from ddpdoctor.archive.recorder_values import DumpError
from ddpdoctor.diagnose.offline.recorder_dumps.report import examine_dumps
from ddpdoctor.merge.recorder_set import complete, from_recorders
from ddpdoctor.model.collectives import Recorder, RecorderEntry
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.model.recorder_set import Member, Ring
from ddpdoctor.model.report import Report
from ddpdoctor.report import collective_matrix, terminal
from ddpdoctor.report import json as json_report
from ddpdoctor.report.terminal_text import Screen, Style

SEEDS = [Writer().dump(head, entries) for _, head, entries in dumps(job(Family.PAIR_CYCLE, 8, 12))]
#: opcodes that reach for code, that ask for memory, and plain ones
OPCODES = b"cioR\x81\x82\x83\x84\x93Pb\x96\x97r\xffj\x95\x8d]})(.ehqtuK0122\x85\x86"


def mutated(chance: random.Random) -> bytes:
    """A real dump with some bytes changed, cut, doubled, or put in."""
    data = bytearray(chance.choice(SEEDS))
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        place = chance.randrange(len(data))
        match chance.randrange(6):
            case 0:
                data[place] = chance.randrange(256)
            case 1:
                data[place] = chance.choice(OPCODES)
            case 2:
                del data[place:]
                data += b"."
            case 3:
                data[place:place] = data[place : place + chance.randrange(64)]
            case 4:
                data[place:place] = chance.choice((b"cos\nsystem\n", b"r\xff\xff\xff\x7f", b"\x85" * 40, b"(lp0\n"))
            case _:
                del data[place : place + chance.randrange(1, 8)]
        if not data:
            return b"."
    return bytes(data)


def judged(members: dict[Rank, Member]) -> Report:
    """The report on these, drawn in every way; it is never sure."""
    recorders = complete(members)
    report = examine_dumps(recorders)
    assert all(d.confidence is not Confidence.CERTAIN for d in report.diagnoses)
    assert terminal.render(report, Screen(80), directory="/")
    assert json_report.render(report)
    assert collective_matrix.render(recorders, width=100, style=Style(unicode=False))
    return report


def read(folder: Path, files: list[bytes]) -> tuple[int, int]:
    """(ranks that were read, files that were refused) of a folder with these files."""
    given: list[InputFile] = []
    for rank, data in enumerate(files):
        path = folder / f"trace_rank_{rank}"
        path.write_bytes(data)
        given.append(InputFile(path.name, path, Format.RECORDER_PICKLE))
    found = parallel_dumps.read_all(given, rank_of, processes=2)
    assert all("\n" not in gap.reason and len(gap.reason) < 400 for gap in found.gaps)
    assert len(found.members) + len(found.gaps) >= len(files)
    judged(dict(found.members))
    return len(found.members), len(found.gaps)


def many(folder: Path, count: int, seed: int) -> None:
    chance = random.Random(seed)
    (folder / "here").mkdir()
    before = sorted(folder.iterdir())
    ranks = refused = 0
    for _ in range(0, count, 200):
        there, gone = read(folder / "here", [mutated(chance) for _ in range(200)])
        ranks, refused = ranks + there, refused + gone
    assert sorted(folder.iterdir()) == before  # nothing ran
    assert ranks > count // 50
    assert refused > count // 50


def test_hundreds_of_mutated_dumps(tmp_path: Path) -> None:
    many(tmp_path, 400, seed=1)


@pytest.mark.slow
def test_twenty_thousand_mutated_dumps(tmp_path: Path) -> None:
    many(tmp_path, 20_000, seed=2)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(sorted({key for _, _, made in dumps(job(Family.MISSING, 8, 3)) for _, e in made for key in e}))


@given(st.dictionaries(KEYS, PLAIN, max_size=4), st.integers(0, 11))
def test_fields_of_any_shape_are_read_or_refused(changed: dict[str, object], place: int) -> None:
    dump = pickle.loads(SEEDS[0])
    dump["entries"][place].update(changed)
    reader = RecorderReader()
    try:
        found = reader.read(pickle.dumps(dump, 2))
    except DumpError:
        return
    steps = tuple(step_of(reader.rows[number]) for number in found.steps)
    groups = tuple(Group(name, tuple(map(Rank, ranks)), desc) for name, ranks, desc in reader.groups)
    judged({Rank(0): Member(Rank(0), Ring(steps), groups)})


ENTRY = st.builds(
    RecorderEntry,
    seq=st.integers(-1, 6),
    op=st.sampled_from(["all_reduce", "broadcast", "barrier", "send", "recv", "_allgather_base", ""]),
    backend=st.sampled_from(["nccl", "gloo"]),
    group=st.sampled_from(["0", "1", "2"]),
    input_sizes=st.sampled_from([(), ((4,),), ((4, 2), (1,))]),
    input_dtypes=st.just(("Float",)),
    created_ns=st.just(0),
    state=st.sampled_from(["scheduled", "completed"]),
    retired=st.booleans(),
    p2p=st.booleans(),
    peer=st.none() | st.integers(0, 5).map(Rank),
)
RINGS = st.dictionaries(st.integers(0, 4).map(Rank), st.lists(ENTRY, max_size=8), max_size=5)
GROUPS = st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=3, max_size=3)


@given(RINGS, GROUPS)
def test_any_recorders_give_a_report(rings: dict[Rank, list[RecorderEntry]], members: list[set[int]]) -> None:
    groups = tuple(Group(str(n), tuple(Rank(rank) for rank in sorted(one)), "") for n, one in enumerate(members))
    recorders = {rank: Recorder("2.10", tuple(entries), groups) for rank, entries in rings.items()}
    report = judged(dict(from_recorders(recorders, 5).members))
    named = {rank for diagnosis in report.diagnoses for rank in diagnosis.culprits}
    assert all(0 <= rank < max(len(report.ranks), 1) for rank in named)
