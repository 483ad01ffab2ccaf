"""Every kind of end, of a job that moves and of one that stands: told right, nobody blamed for what came from outside,
and the job ends as it would alone."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.ends import Blow, End, Ended, can_limit_memory, run, said

INT, TERM, KILL, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP
USR1, USR2, QUIT = signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT
STATES = ("healthy", "hung")


@dataclass(frozen=True)
class Kind:
    """A kind of end, and what is to be told of it."""

    end: End
    #: ranks that are blamed; for a job that moved
    blamed: tuple[int, ...]
    #: words of the first summary; for a job that moved
    words: str
    #: whether a job that stands is told as a hang, as what it stood in
    hang: bool = True
    states: tuple[str, ...] = STATES
    #: processes outlive the end, with `watch` as without it
    orphans: bool = False
    #: `watch` itself is killed: nothing can be told, and the job goes on
    silent: bool = False
    #: needs a memory cgroup
    limits_memory: bool = False


def _sent(
    name: str, *blows: Blow, lingers: bool = False, inside: tuple[str, ...] = (), outside: tuple[str, ...] = ()
) -> End:
    return End(name, blows, lingers=lingers, inside=inside, outside=outside)


OUTSIDE = "the job was ended from outside: `watch` was sent "
BY_LAUNCHER = "its launcher sent "
KINDS = (
    # what reaches `watch`, and alone the launcher
    Kind(_sent("a-scheduler-ends-it", Blow("watch", TERM)), (), OUTSIDE + "SIGTERM"),
    Kind(_sent("ctrl-c", Blow("group", INT)), (), OUTSIDE + "SIGINT"),
    # the second comes while the launcher waits for its ranks
    Kind(_sent("ctrl-c-twice", Blow("group", INT), Blow("group", INT, 1.0), lingers=True), (), OUTSIDE + "SIGINT"),
    Kind(
        _sent("ctrl-c-twice-at-once", Blow("group", INT), Blow("group", INT, 0.05), lingers=True),
        (),
        OUTSIDE + "SIGINT",
    ),
    Kind(_sent("the-terminal-is-closed", Blow("group", HUP)), (), OUTSIDE + "SIGHUP"),
    Kind(_sent("a-warning-usr1", Blow("watch", USR1)), (), "SIGUSR1", orphans=True),
    Kind(_sent("a-warning-usr2", Blow("watch", USR2)), (), "SIGUSR2", orphans=True),
    Kind(_sent("term-then-kill", Blow("watch", TERM), Blow("all", KILL, 6.0)), (), OUTSIDE + "SIGTERM"),
    Kind(_sent("kill-watch", Blow("watch", KILL)), (), "", orphans=True, silent=True),
    # what reaches the launcher
    Kind(_sent("term-launcher", Blow("launcher", TERM)), (), BY_LAUNCHER + "SIGTERM"),
    Kind(_sent("int-launcher", Blow("launcher", INT)), (), BY_LAUNCHER + "SIGINT"),
    Kind(_sent("hup-launcher", Blow("launcher", HUP)), (), BY_LAUNCHER + "SIGHUP"),
    Kind(_sent("quit-launcher", Blow("launcher", QUIT)), (), BY_LAUNCHER + "SIGQUIT"),
    Kind(_sent("kill-launcher", Blow("launcher", KILL)), (), "launcher was killed by SIGKILL", orphans=True),
    # what reaches one rank
    Kind(_sent("kill-rank", Blow("rank", KILL)), (1,), "rank 1 was killed by SIGKILL", hang=False),
    Kind(_sent("term-rank", Blow("rank", TERM)), (), "rank 1 was ended from outside by SIGTERM"),
    Kind(_sent("int-rank", Blow("rank", INT)), (), "rank 1 was ended from outside by SIGINT"),
    Kind(_sent("usr1-rank", Blow("rank", USR1)), (), "rank 1 was ended from outside by SIGUSR1"),
    Kind(_sent("abort-rank", Blow("rank", signal.SIGABRT)), (1,), "rank 1 died of SIGABRT", hang=False),
    Kind(_sent("fault-of-rank", Blow("rank", signal.SIGSEGV)), (1,), "rank 1 died of SIGSEGV", hang=False),
    # what reaches all ranks, or everything
    Kind(_sent("term-ranks", Blow("ranks", TERM)), (), "ended from outside by SIGTERM"),
    Kind(_sent("int-ranks", Blow("ranks", INT)), (), "ended from outside by SIGINT"),
    Kind(_sent("kill-ranks", Blow("ranks", KILL)), (), "ended from outside by SIGKILL"),
    Kind(_sent("usr1-ranks", Blow("ranks", USR1)), (), "ended from outside by SIGUSR1"),
    Kind(_sent("term-all", Blow("all", TERM)), (), "from outside"),
    Kind(_sent("kill-all", Blow("all", KILL)), (), "", silent=True),
    # limits
    Kind(_sent("time-limit-inside", inside=("timeout", "40")), (), "", states=("hung",)),
    Kind(_sent("time-limit-outside", outside=("timeout", "40")), (), "", states=("hung",)),
    Kind(End("address-space", fault="address-space"), (1,), "rank 1 raised MemoryError", hang=False),
    Kind(End("processor-time", fault="processor-time"), (1,), "rank 1 died of SIGXCPU", hang=False),
    Kind(
        End("memory-limit", fault="memory-limit"), (1,), "rank 1 was killed by SIGKILL", hang=False, limits_memory=True
    ),
    # ends from inside
    Kind(End("raise", fault="raise"), (1,), "rank 1 raised KeyError", hang=False),
    Kind(End("exit", fault="exit"), (1,), "rank 1 exited with status 3", hang=False),
    Kind(End("leave", fault="leave"), (1,), "rank 1 exited with status 4", hang=False),
    Kind(End("abort", fault="abort"), (1,), "rank 1 died of SIGABRT", hang=False),
)


def _cases() -> Iterator[object]:
    for kind in KINDS:
        for state in kind.states:
            yield pytest.param(kind, state, id=f"{kind.end.name}-{state}")


@pytest.mark.ends
@pytest.mark.parametrize(("kind", "state"), list(_cases()))
def test_an_end_is_told_right_and_is_the_job_s_own(kind: Kind, state: str, tmp_path: Path) -> None:
    if kind.limits_memory and not can_limit_memory():
        pytest.skip("no memory cgroup can be made: that takes root, and cgroups of the first version")
    alone = run(kind.end, state, tmp_path / "alone", watched=False)
    watched = run(kind.end, state, tmp_path / "watched", watched=True)
    assert (
        watched.status % 256 == (128 - alone.status if alone.status < 0 and not kind.silent else alone.status) % 256
    ), watched.explain()
    assert watched.stdout == alone.stdout
    assert bool(watched.left) == bool(alone.left) == kind.orphans or kind.silent, watched.explain()
    if kind.silent:
        return
    lost = Counter(_own(alone)) - Counter(_own(watched))
    assert not lost, f"{lost}\n{watched.explain()}"
    _is_told(kind, state, watched)


def _own(ended: Ended) -> list[str]:
    """What is said in any case. How far a rank gets with its last words before its launcher ends it is a matter of
    chance, unless its own fault ends it; and so is how many ranks have ended before torchrun signals the others."""
    lines = [line for line in said(ended.stderr) if "Traceback" in line or "Error:" in line]
    faults = [line for line in lines if line.startswith(("[rank#]: KeyError", "[rank#]: MemoryError"))]
    by_launcher = set(re.findall(r"Sending process (\d+) closing signal", ended.stderr))
    signals = {
        name
        for name, pid in re.findall(r"Signal \d+ \((\w+)\) received by PID (\d+)", ended.stderr)
        if pid not in by_launcher
    }
    return [line for line in lines if not line.startswith("[rank#]")] + faults + sorted(signals)


def _is_told(kind: Kind, state: str, watched: Ended) -> None:
    report = watched.report
    first = report["diagnoses"][0]
    if state == "hung" and kind.hang:
        assert (report["outcome"], first["culprits"]) == ("hang", [1]), watched.explain()
        kept = {path.name for path in (watched.bundle / "samples").rglob("*.stacks.json")}
        assert kept >= {f"{pid}.stacks.json" for pid in watched.ranks}, watched.explain()
        return
    assert (report["outcome"], first["code"]) == ("crash", "DD251"), watched.explain()
    assert tuple(first["culprits"]) == kind.blamed, watched.explain()
    assert kind.words in first["summary"], watched.explain()
    if kind.limits_memory:
        assert "a memory limit is the likely cause" in first["why"], watched.explain()
    if kind.blamed:
        kept = {path.name for path in (watched.bundle / "samples").rglob("*.stacks.json")}
        samples = json.loads((watched.bundle / "manifest.json").read_text())["samples"]
        gone = {one["pid"] for sample in samples for one in sample["gone"]}
        # a peer whose connection has ended with rank 1 may end while it is looked at
        assert f"{watched.ranks[0]}.stacks.json" in kept or watched.ranks[0] in gone, watched.explain()
