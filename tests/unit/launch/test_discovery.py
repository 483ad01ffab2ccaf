"""Finding ranks among real processes: process trees as launchers create them, without torch."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from ddpdoctor.launch.discovery import Discovery, not_replaced
from ddpdoctor.model.ranks import Rank, Role, Worker
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.writer import PageWriter

#: what a rank's program begins with where it has a page
ARM = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from ddpdoctor.probe.writer import PageWriter, started_ticks
def arm(rank, world=2):
    facts = dict(pid=os.getpid(), started_ticks=started_ticks(), rank=rank, world_size=world)
    return PageWriter(os.path.join(os.environ["RUN"], f"{{os.getpid()}}.page"), facts)
"""
SLEEP = "import os, time; os.write(1, b'up\\n'); time.sleep(60)\n"


def launcher(*environs: dict[str, str], program: str = SLEEP) -> str:
    """A program that starts one worker per environment, each in its own session, as torchrun does."""
    return (
        "import os, subprocess, sys, time\n"
        f"for environ in {environs!r}:\n"
        f"    command = [sys.executable, '-c', {program!r}]\n"
        "    subprocess.Popen(command, env={**os.environ, **environ}, start_new_session=True)\n"
        "time.sleep(60)\n"
    )


def ranks(number: int) -> tuple[dict[str, str], ...]:
    return tuple({"RANK": str(r), "LOCAL_RANK": str(r), "WORLD_SIZE": str(number)} for r in range(number))


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def run() -> Path:
    return Path(tempfile.mkdtemp(dir="/tmp"))


@pytest.fixture
def start(run: Path) -> Iterator[Start]:
    """Start a Python program and wait until its whole tree has said "up" `ups` times."""
    started: list[subprocess.Popen[str]] = []

    def begin(program: str, ups: int = 1, command: tuple[str, ...] = (), **environ: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("RANK", "LOCAL_RANK", "WORLD_SIZE")}
        process = subprocess.Popen(
            [*command, sys.executable, "-c", program],
            env={**kept, **environ, "RUN": str(run)},
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        for _ in range(ups):
            assert process.stdout.readline() == "up\n"
        return process

    yield begin
    for process in started:
        with suppress(psutil.Error):
            for member in psutil.Process(process.pid).children(recursive=True):
                member.kill()
        process.kill()
        process.communicate()


def by_role(workers: tuple[Worker, ...], role: Role) -> list[Worker]:
    return sorted((w for w in workers if w.role is role), key=lambda w: (w.rank or 0, w.pid))


def test_a_launchers_workers_are_the_ranks(start: Start) -> None:
    process = start(launcher(*ranks(3)), ups=3)
    found = Discovery(None).find(process.pid)
    assert [(w.rank, w.local_rank, w.world_size) for w in by_role(found, Role.RANK)] == [
        (0, 0, 3),
        (1, 1, 3),
        (2, 2, 3),
    ]
    assert [w.pid for w in by_role(found, Role.LAUNCHER)] == [process.pid]


def test_a_launcher_that_was_given_rank_as_the_nodes_number_is_no_rank(start: Start) -> None:
    """Kubernetes' PyTorchJob sets RANK and WORLD_SIZE, meaning nodes, in the pod that runs torchrun."""
    process = start(launcher(*ranks(2)), ups=2, RANK="1", WORLD_SIZE="2")
    found = Discovery(None).find(process.pid)
    assert [w.rank for w in by_role(found, Role.RANK)] == [0, 1]
    assert [w.pid for w in by_role(found, Role.LAUNCHER)] == [process.pid]


def test_a_plain_program_with_rank_is_the_rank_and_its_children_are_not(start: Start) -> None:
    child = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {SLEEP!r}])\n"
    process = start(child, RANK="2", LOCAL_RANK="0", WORLD_SIZE="4")
    found = Discovery(None).find(process.pid)
    (rank,) = by_role(found, Role.RANK)
    assert (rank.pid, rank.rank, rank.world_size) == (process.pid, 2, 4)
    (helper,) = by_role(found, Role.CHILD)
    assert (helper.parent, helper.rank) == (process.pid, None)


def test_a_shell_around_one_rank_is_no_rank(start: Start) -> None:
    process = start(SLEEP, command=("sh", "-c", '"$0" "$@"; exit $?'), RANK="0", LOCAL_RANK="0")
    found = Discovery(None).find(process.pid)
    (rank,) = by_role(found, Role.RANK)
    assert rank.pid != process.pid
    assert [w.pid for w in by_role(found, Role.LAUNCHER)] == [process.pid]


def test_a_page_makes_a_rank_where_the_environment_says_nothing(start: Start, run: Path) -> None:
    """As under mp.spawn and fork."""
    program = (
        ARM + "import time\nfor rank in range(2):\n    if os.fork() == 0:\n        page = arm(rank); break\n" + SLEEP
    )
    process = start(program, ups=3)
    found = Discovery(run).find(process.pid)
    assert [(w.rank, w.world_size) for w in by_role(found, Role.RANK)] == [(0, 2), (1, 2)]
    assert [w.pid for w in by_role(found, Role.LAUNCHER)] == [process.pid]


@pytest.mark.parametrize(("world", "others", "expected"), [(3, 1, [0, 1, 2]), (4, 1, [0, 2]), (3, 2, [0, 2])])
def test_a_rank_that_has_no_page_yet_is_told_by_its_siblings(
    start: Start, run: Path, world: int, others: int, expected: list[int]
) -> None:
    """Under mp.spawn a rank that loads its data before init_process_group has neither a page nor RANK.

    If the numbers do not fit, nothing tells which process is a rank.
    """
    program = (
        "import subprocess, sys, time\n"
        f"late = {ARM!r} + 'if sys.argv[-1] in \"02\": page = arm(int(sys.argv[-1]), {world})\\n' + {SLEEP!r}\n"
        f"for n in range(2 + {others}):\n"
        "    number = [0, 2, 1, 7][n]\n"
        "    subprocess.Popen([sys.executable, '-c', late, '--rank', str(number)])\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)', '--rank', '5'])\n"
        "time.sleep(60)\n"
    )
    process = start(program, ups=2 + others)
    found = Discovery(run).find(process.pid)
    assert [w.rank for w in by_role(found, Role.RANK)] == expected
    assert all(w.world_size == world for w in by_role(found, Role.RANK))


def test_a_rank_that_another_rank_has_started_is_none_of_its_children(start: Start, run: Path) -> None:
    """As Lightning starts the ranks of a node: the same program, with LOCAL_RANK, and without RANK or a page yet.

    Helpers run another program, data workers are forked, and neither is a rank.
    """
    helper = f"[sys.executable, '-c', {SLEEP!r}]"
    program = (
        f"{ARM}import subprocess\n"
        "if 'LOCAL_RANK' not in os.environ:\n"
        "    for number in (2, 1):\n"
        "        subprocess.Popen(sys.orig_argv, env={**os.environ, 'LOCAL_RANK': str(number)})\n"
        f"    subprocess.Popen({helper}, env={{**os.environ, 'LOCAL_RANK': '1'}})\n"
        "    page = arm(0, 3)\n"
        f"os.fork()\n{SLEEP}"
    )
    process = start(program, ups=7)
    found = Discovery(run).find(process.pid)
    assert [(w.rank, w.local_rank) for w in by_rank(found)] == [(0, None), (1, 1), (2, 2)]
    assert len(by_role(found, Role.CHILD)) == 4


def by_rank(found: tuple[Worker, ...]) -> list[Worker]:
    return sorted(by_role(found, Role.RANK), key=lambda worker: worker.rank or 0)


def test_a_rank_with_another_parent_by_now_is_found_by_its_page_and_so_are_its_children(
    start: Start, run: Path
) -> None:
    lost = ARM + f"page = arm(1)\nimport subprocess\nsubprocess.run([sys.executable, '-c', {SLEEP!r}])\n"
    program = (
        f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import subprocess, sys; "
        f'subprocess.Popen([sys.executable, "-c", sys.argv[1]])\', {lost!r}]).wait()\n' + SLEEP
    )
    process = start(program, ups=2)
    found = Discovery(run).find(process.pid)
    try:
        (rank,) = by_role(found, Role.RANK)
        assert rank.rank == 1
        assert rank.pid not in {p.pid for p in psutil.Process(process.pid).children(recursive=True)}
        assert [w.parent for w in by_role(found, Role.CHILD)] == [rank.pid]
    finally:
        for worker in found:
            if worker.role is not Role.LAUNCHER:
                psutil.Process(worker.pid).kill()


def test_a_dead_rank_is_known_by_the_page_that_it_left(start: Start, run: Path) -> None:
    program = ARM + "page = arm(0)\n" + SLEEP
    process = start(program)
    (alive,) = Discovery(run).find(process.pid)
    process.kill()
    process.wait()
    (dead,) = Discovery(run).find(process.pid)
    assert (dead.pid, dead.started, dead.rank, dead.role) == (alive.pid, alive.started, 0, Role.RANK)


def worker_of(rank: int, started: float) -> Worker:
    return Worker(int(started * 10) + rank, started, Role.RANK, Rank(rank))


FIRST = tuple(worker_of(rank, 1.0) for rank in range(3))


@pytest.mark.parametrize(
    ("ended", "living", "kept"),
    [
        pytest.param(FIRST, (), FIRST, id="the only attempt"),
        pytest.param(FIRST, (worker_of(0, 5.0),), (), id="the next has begun"),
        pytest.param(FIRST, (worker_of(0, 5.0), worker_of(1, 5.1)), (), id="the next has fewer ranks"),
        pytest.param((*FIRST, worker_of(0, 5.0)), (worker_of(1, 5.1),), (worker_of(0, 5.0),), id="one of the next"),
        pytest.param(FIRST[1:], (FIRST[0], worker_of(1, 5.0)), FIRST[2:], id="others live on"),
        pytest.param((FIRST[2],), (*FIRST[:2], worker_of(0, 5.0), worker_of(1, 5.0)), (FIRST[2],), id="another job"),
    ],
)
def test_ranks_of_earlier_attempts_are_forgotten(
    ended: tuple[Worker, ...], living: tuple[Worker, ...], kept: tuple[Worker, ...]
) -> None:
    assert tuple(not_replaced(ended, living)) == kept


def test_a_dead_rank_is_forgotten_once_another_process_has_its_place(start: Start, run: Path) -> None:
    first = start(ARM + "page = arm(0)\n" + SLEEP)
    other = start(ARM + "page = arm(1)\n" + SLEEP)
    for process in (first, other):
        process.kill()
        process.wait()
    assert len(Discovery(run).find(first.pid)) == 2
    again = start(ARM + "page = arm(0)\n" + SLEEP)
    assert [(worker.rank, worker.pid) for worker in Discovery(run).find(again.pid)] == [(0, again.pid)]


def test_ranks_that_live_side_by_side_replace_nobody(start: Start, run: Path) -> None:
    """Two jobs under one command have the same numbers."""
    first, other = (start(ARM + "page = arm(0)\n" + SLEEP) for _ in range(2))
    found = Discovery(run).find(first.pid, other.pid)
    assert {worker.pid for worker in found} == {first.pid, other.pid}


def test_a_page_of_an_earlier_process_with_the_same_pid_names_nobody(start: Start, run: Path) -> None:
    process = start(SLEEP)
    facts = {"pid": process.pid, "started_ticks": 1, "rank": 5, "world_size": 8}
    PageWriter(str(run / f"{process.pid}.page"), facts)
    (worker,) = Discovery(run).find(process.pid)
    assert (worker.role, worker.rank) == (Role.LAUNCHER, None)


def test_a_page_without_a_rank_or_with_damage_is_asked_again(start: Start, run: Path) -> None:
    process = start(SLEEP)
    path = run / f"{process.pid}.page"
    discovery = Discovery(run)
    path.write_bytes(b"no page at all")
    assert discovery.changed()
    assert [w.role for w in discovery.find(process.pid)] == [Role.LAUNCHER]
    assert not discovery.changed()
    ticks = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
    writer = PageWriter(str(path), {"pid": process.pid, "started_ticks": ticks, "rank": layout.NONE, "world_size": -1})
    assert [w.role for w in discovery.find(process.pid)] == [Role.LAUNCHER]
    writer.identify(rank=3, world_size=4)
    assert [(w.role, w.rank) for w in discovery.find(process.pid)] == [(Role.RANK, 3)]


def test_a_tree_that_is_gone_is_empty() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert Discovery(None).find(process.pid) == ()


def test_many_searches_are_cheap(start: Start) -> None:
    """What cannot change is asked once: a search costs milliseconds."""
    process = start(launcher(*ranks(2)), ups=2)
    discovery = Discovery(None)
    discovery.find(process.pid)
    began = time.process_time()
    for _ in range(20):
        discovery.find(process.pid)
    assert (time.process_time() - began) / 20 < 0.1
