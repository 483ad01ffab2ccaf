"""Several watchers over one board that lives in this process: whatever comes late or not at all, all come to an end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.meeting import episode
from ddpdoctor.meeting.board import Answer, Claimed, Found, Lost
from ddpdoctor.meeting.episode import Conclude, representatives
from ddpdoctor.meeting.messages import Absent, Behaviour, Digest, Doing, Entry, Why
from ddpdoctor.meeting.session import Session
from ddpdoctor.model.ranks import Rank, RankSet


@dataclass
class Store:
    """What all boards share; `now` is the time of the test."""

    values: dict[str, bytes] = field(default_factory=dict)
    now: float = 0.0


class SharedBoard:
    """A board over a store in this process; whoever `hangs` is not heard any more."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asked: deque[tuple[str | tuple[str, ...], bytes, float]] = deque()
        self.hangs = False
        self.lost = False

    def put(self, key: str, value: bytes) -> None:
        if not self.hangs:
            self._store.values[key] = value

    def append(self, key: str, value: bytes) -> None:
        self.put(key, self._store.values.get(key, b"") + value)

    def claim(self, key: str, value: bytes) -> None:
        self._asked.append((key, value, 0.0))

    def gather(self, keys: Iterable[str], within: float) -> None:
        self._asked.append((tuple(keys), b"", self._store.now + within))

    def poll(self, now: float) -> tuple[Answer, ...]:
        if self.lost:
            return (Lost("cut"),)
        answers: list[Answer] = []
        while self._asked and not self.hangs:
            keys, value, due = self._asked[0]
            if isinstance(keys, str):
                answers.append(Claimed(self._store.values.setdefault(keys, value)))
            else:
                found = {key: self._store.values[key] for key in keys if key in self._store.values}
                if len(found) < len(keys) and now < due:
                    break
                answers.append(Found(found))
            self._asked.popleft()
        return tuple(answers)

    def close(self) -> None:
        pass


@dataclass
class Watched:
    """A node whose ranks do what the test says."""

    node: Rank
    ranks: str
    doing: Doing = Doing.WAITING
    still: float = 5.0
    judged: list[tuple[Rank, ...]] = field(default_factory=list)
    absent: tuple[Absent, ...] = ()

    def digest(self, node: Rank, why: Why) -> Digest:
        return Digest(node, self.still, (Behaviour(self.ranks, self.doing),))

    def parts(self, ranks: RankSet, why: Why) -> bytes | None:
        return f"parts of {self.ranks}".encode()

    def judge(self, parts: Mapping[Rank, bytes], absent: tuple[Absent, ...], digests: Mapping[Rank, Digest]) -> bytes:
        self.judged.append(tuple(sorted(parts)))
        self.absent = absent
        return f"verdict on {sorted(parts)}".encode()


class Job:
    """Nodes of two ranks each that meet."""

    def __init__(self, number: int, **doing: Doing) -> None:
        self.store = Store()
        self.nodes = [Watched(Rank(2 * n), f"{2 * n}-{2 * n + 1}") for n in range(number)]
        self.boards = [SharedBoard(self.store) for _ in self.nodes]
        self.sessions = [
            Session(board, "room", Entry(one.node, f"node-{n}", one.ranks), 2 * number, one)
            for n, (one, board) in enumerate(zip(self.nodes, self.boards, strict=True))
        ]
        self.ends: list[list[Conclude]] = [[] for _ in self.nodes]

    def run(self, seconds: float, order: Iterable[int] = (), step: float = 0.1) -> None:
        turns = list(order) or list(range(len(self.sessions)))
        for turn in range(round(seconds / step)):
            self.store.now += step
            for n in (turns[turn % len(turns)], *range(len(self.sessions))):
                if not self.boards[n].hangs:
                    end = self.sessions[n].tick(self.store.now)
                    self.ends[n].extend([end] if end else [])


def test_all_get_the_verdict_of_one_on_the_parts_of_all() -> None:
    job = Job(3)
    job.run(1.0)
    for session in job.sessions:
        session.want(Why.STILL)
    job.run(2.0)
    assert [[end.verdict for end in ends] for ends in job.ends] == [[b"verdict on [0, 2, 4]"]] * 3
    assert sum(len(node.judged) for node in job.nodes) == 1
    assert not any(session.meets for session in job.sessions)


def test_one_that_asks_is_enough() -> None:
    job = Job(3)
    job.run(1.0)
    job.sessions[1].want(Why.FAILURE)
    job.run(2.0)
    assert [[end.why for end in ends] for ends in job.ends] == [[Why.FAILURE]] * 3
    assert len(job.nodes[1].judged) == 1


@pytest.mark.parametrize(("doing", "still"), [(Doing.BUSY, 5.0), (Doing.WAITING, 0.5)])
def test_nothing_is_looked_at_while_a_rank_works_or_moves(doing: Doing, still: float) -> None:
    job = Job(2)
    job.nodes[1].doing, job.nodes[1].still = doing, still
    job.run(1.0)
    job.sessions[0].want(Why.STILL)
    job.run(2.0)
    assert [ends[0].verdict for ends in job.ends] == [None, None]
    assert [ends[0].over for ends in job.ends] != ["", ""]
    job.sessions[0].want(Why.STALLED)
    job.run(2.0)
    assert [ends[-1].verdict for ends in job.ends] == [b"verdict on [0, 2]"] * 2


def test_a_watcher_that_does_not_answer_is_named_within_its_deadline() -> None:
    job = Job(3)
    job.run(1.0)
    job.boards[2].hangs = True
    job.sessions[0].want(Why.STALLED)
    job.run(episode.DIGESTS + 1.0)
    assert [ends[0].verdict for ends in job.ends[:2]] == [b"verdict on [0, 2]"] * 2
    assert [str(one) for one in job.ends[1][0].absent] == ["node-2 (ranks 4-5) does not answer"]
    assert job.nodes[0].absent == job.ends[1][0].absent


def test_without_all_nodes_nothing_is_proven() -> None:
    job = Job(2)
    job.run(1.0)
    job.boards[1].hangs = True
    job.sessions[0].want(Why.STILL)
    job.run(episode.DIGESTS + 1.0)
    assert job.ends[0][0].verdict is None
    assert [str(one) for one in job.ends[0][0].absent] == ["node-1 (ranks 2-3) does not answer"]


def test_ranks_without_a_watcher_are_told_from_those_whose_watcher_is_cut_off() -> None:
    store = Store({"room/node/4": b'{"rank": 4, "ranks": 2}'})
    node = Watched(Rank(0), "0-1")
    session = Session(SharedBoard(store), "room", Entry(node.node, "node-0", node.ranks), 8, node)
    session.tick(0.0)
    session.want(Why.STALLED)
    end = next(filter(None, (session.tick(n * 0.1) for n in range(1, 200))))
    assert [str(one) for one in end.absent] == [
        "ranks 4-5: their watcher does not reach the job's store",
        "ranks 2-3,6-7: no watcher sees them",
    ]


def test_another_leads_if_the_first_does_not_go_on() -> None:
    job = Job(2)
    job.run(1.0)
    job.sessions[0].want(Why.STALLED)
    for _ in range(2):
        job.sessions[0].tick(job.store.now)  # it has claimed the episode
    job.boards[0].hangs = True
    job.run(1.0 + episode.CALL + episode.DIGESTS + 1.0)
    (end,) = job.ends[1]
    assert end.verdict == b"verdict on [2]"
    assert [str(one) for one in end.absent] == ["node-0 (ranks 0-1) does not answer"]


def test_who_comes_late_takes_part_in_what_comes_next() -> None:
    job = Job(2)
    job.run(1.0)
    for _ in range(3):
        job.sessions[0].want(Why.STILL)
        job.run(2.0)
    late = Watched(Rank(0), "0-1")
    job.sessions[0] = Session(job.boards[0], "room", Entry(late.node, "node-0", late.ranks), 4, late)
    job.ends[0].clear()
    job.sessions[1].want(Why.STALLED)
    job.run(2.0)
    assert [end.verdict for end in job.ends[0]] == [b"verdict on [0, 2]"]


@given(
    number=st.integers(2, 5),
    wants=st.lists(st.tuples(st.integers(0, 4), st.sampled_from(Why)), min_size=1, max_size=6),
    fates=st.lists(st.sampled_from(["lives", "lives", "hangs", "lost"]), min_size=5, max_size=5),
    when=st.floats(0.0, 3.0),
    order=st.lists(st.integers(0, 4), min_size=1, max_size=8),
)
def test_every_living_watcher_comes_to_an_end(
    number: int, wants: list[tuple[int, Why]], fates: list[str], when: float, order: list[int]
) -> None:
    job = Job(number)
    job.run(1.0)
    turns = [n % number for n in order]
    for n, why in wants:
        job.sessions[n % number].want(why)
    job.run(when, turns)
    for board, fate in zip(job.boards, fates, strict=False):
        board.hangs, board.lost = fate == "hangs", fate == "lost"
    longest = len(wants) * (episode.DIGESTS + episode.PARTS + episode.CALL + episode.VERDICT) + 5.0
    job.run(longest, turns)
    for n, session in enumerate(job.sessions):
        if not job.boards[n].hangs:
            assert not session.meets
    told: dict[int, set[bytes]] = {}
    for ends in job.ends:
        for place, end in enumerate(ends):
            if end.verdict is not None and all(fate == "lives" for fate in fates[:number]):
                told.setdefault(place, set()).add(end.verdict)
    assert all(len(verdicts) == 1 for verdicts in told.values())


def behaving(*kinds: str) -> dict[Rank, Digest]:
    return {
        Rank(8 * n): Digest(Rank(8 * n), 5.0, (Behaviour(f"{8 * n}-{8 * n + 7}", Doing.WAITING, kind),))
        for n, kind in enumerate(kinds)
    }


def test_of_a_small_job_all_ranks_are_asked_for() -> None:
    assert str(representatives(behaving("all_reduce", "barrier"))) == "0-15"


def test_of_a_large_job_two_of_each_behaviour_are_the_rare_first() -> None:
    digests = behaving(*["all_reduce"] * 128, "barrier")
    assert str(representatives(digests)) == "0-2,1024-1025"


def test_a_half_stays_a_half() -> None:
    digests = behaving(*["all_reduce"] * 64, *["barrier"] * 64)
    assert str(representatives(digests)) == "0-1,512-513"


def test_the_majority_stays_one_among_many_behaviours() -> None:
    digests = behaving(*["all_reduce"] * 100, *(f"other {n}" for n in range(20)))
    chosen = representatives(digests)
    assert len(chosen) <= episode.MOST_RANKS
    assert sum(rank < 800 for rank in chosen) > sum(rank >= 800 for rank in chosen)


@given(st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=3, max_size=60))
def test_never_more_than_so_many_are_asked_for(kinds: list[str]) -> None:
    chosen = representatives(behaving(*kinds))
    assert len(chosen) <= episode.MOST_RANKS
    assert chosen


def test_a_watcher_that_is_on_its_way_is_waited_for() -> None:
    job = Job(1)
    job.store.values["room/node/2"] = b'{"rank": 2, "ranks": 2}'
    first, job.boards = job.nodes[0], [SharedBoard(job.store)]
    job.sessions = [Session(job.boards[0], "room", Entry(first.node, "node-0", first.ranks), 4, first)]
    late, board = Watched(Rank(2), "2-3"), SharedBoard(job.store)
    job.run(1.0)
    job.sessions[0].want(Why.FAILURE)
    job.run(1.0)
    assert job.ends == [[]]
    job.nodes.append(late)
    job.boards.append(board)
    job.ends.append([])
    job.sessions.append(Session(board, "room", Entry(late.node, "node-1", late.ranks), 4, late))
    job.run(2.0)
    assert [[end.verdict for end in ends] for ends in job.ends] == [[b"verdict on [0, 2]"]] * 2
