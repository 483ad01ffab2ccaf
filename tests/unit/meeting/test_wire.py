"""What travels between nodes: enough for the same evidence, and nothing that is nobody's business elsewhere."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture, Gone, Part, PartKind, Sample
from ddpdoctor.meeting import messages, wire
from ddpdoctor.meeting.messages import Absent, Behaviour, Call, Digest, Doing, Entry
from ddpdoctor.model.codec import encode
from ddpdoctor.model.evidence import Gap, Source, SourceFile, Timing
from ddpdoctor.model.processes import Exit, Holder, ProcessState, Relation, ThreadState
from ddpdoctor.model.ranks import Rank, RankSet, Role, Worker

SECRET = "hunter2"


def process(time: float) -> bytes:
    holder = Holder(9, Relation.OWNER, "python", ("python", "--token", SECRET))
    thread = ThreadState(1, "python", "S", "futex_wait", 0.0, holders=(holder,))
    return json.dumps(encode(ProcessState(time, "S", 1.0, 10, (thread,)))).encode()


def captured() -> Capture:
    """Two ranks, a child of the second, and the exit of the first."""
    workers = (
        Worker(10, 1.0, Role.RANK, Rank(0), world_size=2, command=("train.py", SECRET)),
        Worker(11, 1.0, Role.RANK, Rank(1), world_size=2, command=("train.py", SECRET)),
        Worker(12, 2.0, Role.CHILD, parent=11, command=("train.py", SECRET)),
    )
    samples = tuple(
        Sample(
            time,
            workers,
            tuple(Part(PartKind.PROCESS, worker.pid, process(time)) for worker in workers[1:]),
            (Gap(Source.STACKS, Rank(0), "ended"), Gap(Source.PROCESSES, None, "hidden")),
            (Gone(10, -9),),
        )
        for time in (5.0, 6.0)
    )
    return Capture(
        samples,
        Timing(0.0, 4.0, 5.0, 6.0),
        (Exit(10, -9, 4.5),),
        code={"/train.py": SourceFile("/train.py", SECRET)},
        command=("torchrun", SECRET),
        environment={"TOKEN": SECRET},
        versions={"torch": "2.13.0"},
    )


def test_the_other_node_sees_the_same_ranks() -> None:
    capture = captured()
    arrived, host = wire.unpack(wire.pack(wire.of_ranks(capture, RankSet.of([0, 1])), "node-1"))
    assert host == "node-1"
    here, there = assemble(capture), assemble(arrived)
    assert [(one.rank, one.exit, one.motion) for one in here.ranks] == [
        (one.rank, one.exit, one.motion) for one in there.ranks
    ]
    assert [len(one.children) for one in there.ranks] == [0, 1]
    assert there.timing == here.timing


def test_only_what_was_asked_for_travels() -> None:
    one = wire.of_ranks(captured(), RankSet.of([0]))
    assert {worker.pid for worker in one.samples[0].workers} == {10}
    assert one.samples[0].parts == ()


def test_no_source_argument_or_environment_travels() -> None:
    data = wire.pack(wire.of_ranks(captured(), RankSet.of([0, 1])), "node-1")
    assert SECRET.encode() not in zlib.decompress(data)
    arrived, _ = wire.unpack(data)
    assert not any(SECRET.encode() in part.data for sample in arrived.samples for part in sample.parts)


def refused(read: Callable[[bytes], object], data: bytes) -> bool:
    """Whether it is refused as it should be; any other exception fails the test."""
    try:
        read(data)
    except ValueError:
        return True
    return False


@given(st.binary(max_size=200))
def test_anything_else_is_refused_by_a_value_error(data: bytes) -> None:
    for packed in (data, zlib.compress(data)):
        assert refused(wire.unpack, packed)
        assert refused(lambda message: messages.unpack(Digest, message), packed)


def test_a_damaged_message_is_refused_or_read_never_more() -> None:
    data, dice = bytearray(wire.pack(captured(), "node-1")), random.Random(3)
    for _ in range(300):
        torn = bytearray(data)
        torn[dice.randrange(len(torn))] ^= 1 << dice.randrange(8)
        assert refused(wire.unpack, bytes(torn))


def test_a_message_that_grows_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MOST_BYTES", 1 << 20)
    with pytest.raises(ValueError, match="too large"):
        messages.inflated(zlib.compress(b" " * (2 << 20)))


ranks = st.lists(st.integers(0, 500), min_size=1, max_size=8, unique=True).map(lambda found: str(RankSet.of(found)))


@given(ranks, st.sampled_from(Doing), st.floats(0, 1e6), st.text(max_size=20))
def test_what_is_read_is_what_was_written(members: str, doing: Doing, still: float, op: str) -> None:
    digest = Digest(Rank(0), still, (Behaviour(members, doing, op, counts=(1, 2)),), stops=True)
    assert messages.unpack(Digest, messages.pack(digest)) == digest
    call = Call(members, (Absent(members, "node-1", "does not answer"),))
    assert messages.unpack(Call, messages.pack(call)) == call
    entry = Entry(Rank(0), "node-0", members, "clock")
    assert list(messages.entries(messages.line(entry) + b"damaged\n" + messages.line(entry))) == [entry, entry]


def test_children_stay_with_their_rank() -> None:
    capture = captured()
    other = replace(capture.samples[0].workers[2], parent=99)
    samples = tuple(replace(one, workers=(*one.workers, replace(other, pid=13))) for one in capture.samples)
    kept = wire.of_ranks(replace(capture, samples=samples), RankSet.of([1]))
    assert {worker.pid for worker in kept.samples[0].workers} == {11, 12}
