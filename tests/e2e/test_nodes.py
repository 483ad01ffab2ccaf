"""One verdict from several nodes, each with a network and a clock of its own."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.repro.case import Case
from ddpdoctor.repro.catalogue import load_all, root
from tests.e2e.job import STARTUP, is_told
from tests.e2e.nodes import FIRST, STORE, Node, Nodes, nodes, obstacle

PROGRAMS = Path(__file__).parent / "programs"
#: seconds from the last progress of any rank to the report, where a deadlock can be proven
PROVEN_WITHIN = 8.0
#: seconds in which each side of a cut link names what it lost
LOST_WITHIN = 10.0
#: runs of which one must be in time: what else a machine does makes a run later, never earlier
TRIES = 3

CASES = {case.name: case for case in load_all(root()) if not case.packages and not case.harm and not case.needs}
#: one that is proven, and a crash: `make test-nodes` has all
ALONE = ("rank-conditional-collective", "rank-died")
#: of every family one or two, with their culprit on every node
EVERYWHERE = (
    *("uneven-inputs", "rank-conditional-collective", "skipped-batch"),
    *("stopped-process", "rank-died", "exception-masked"),
)
#: cases that say nothing of several nodes, and why
LEFT_OUT = {
    "rendezvous-unreachable": "its program takes another address than the launcher's, which nobody answers on any node",
    "local-file-check": "each node looks into a folder of its own, where nobody else has written",
    "dtype-mismatch": "fails in the first step, on a machine of two cores before the watchers have imported torch",
    "rank-missing-at-init": "who is missing at the rendezvous has not said yet where the job meets",
}

pytestmark = pytest.mark.skipif(bool(obstacle()), reason=obstacle())


#: culprits of four ranks where the fixture states none
AT_FOUR = {"rank-conditional-collective": (0,), "rank-died": (3,), "stopped-process": (3,), "slow-host-work": (0,)}


def at_four(case: Case) -> tuple[int, ...] | None:
    """The culprits of four ranks, None if that is not known."""
    stated = case.culprits_at(4)
    return AT_FOUR.get(case.name) if stated is None else stated.members


MATRIX = [name for name, case in CASES.items() if at_four(case) is not None and name not in LEFT_OUT]


@pytest.mark.parametrize("name", ALONE)
def test_all_nodes_say_the_same(name: str, tmp_path: Path) -> None:
    with nodes(tmp_path, 2) as lab:
        _say_the_same(lab, CASES[name], turned=0)


@pytest.mark.nodes
@pytest.mark.parametrize("name", MATRIX)
@pytest.mark.parametrize("turned", [0, 2])
def test_all_nodes_say_the_same_wherever_the_culprit_is(name: str, turned: int, tmp_path: Path) -> None:
    with nodes(tmp_path, 2) as lab:
        _say_the_same(lab, CASES[name], turned=turned)


@pytest.mark.nodes
@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.parametrize("turned", [0, 1, 2, 3])
def test_four_nodes_say_the_same(name: str, turned: int, tmp_path: Path) -> None:
    with nodes(tmp_path, 4) as lab:
        _say_the_same(lab, CASES[name], turned=turned, ranks=1)


def _say_the_same(lab: Nodes, case: Case, *, turned: int, ranks: int = 2) -> None:
    """Start the broken program on all nodes, and compare what their watchers say with what is expected of one host."""
    patience = [] if case.stall_after is None else ["--stall-after", str(case.stall_after)]
    program, *arguments = (PROGRAMS / "turned.py", str(turned), str(case.broken)) if turned else (case.broken,)
    lab.torchrun(Path(program), ranks, "--on-hang", "stop", *patience, arguments=[str(one) for one in arguments])
    assert lab.until(lambda: all(_is_over(node, case) for node in lab.nodes), STARTUP), lab.explain()
    for node in lab.nodes:
        report = node.report
        assert report is not None, lab.explain()
        first = report["diagnoses"][0]
        assert report["outcome"] == case.outcome.value, lab.explain()
        assert (first["code"], tuple(first["culprits"])) == (case.code, at_four(case)), lab.explain()
        assert [rank["host"] for rank in report["ranks"]] == _hosts(len(lab.nodes), ranks, turned), lab.explain()
        if report["deadlock"] == "proven":
            assert node.status == 124, lab.explain()
            assert report["timeline"]["reported"] - report["timeline"]["last_progress"] < PROVEN_WITHIN, lab.explain()


def _hosts(number: int, ranks: int, turned: int) -> list[str]:
    world = number * ranks
    return [f"node-{(rank - turned) % world // ranks}" for rank in range(world)]


def _is_over(node: Node, case: Case) -> bool:
    """Whether its watcher has said what it will: a proven deadlock or a crash ends it, others go on."""
    report = node.report
    told = report is not None and is_told(report, case.outcome.value)
    return node.status is not None or (case.outcome is not Outcome.CRASH and told)


def test_each_side_of_a_cut_link_names_the_other_and_says_when_it_goes_on(tmp_path: Path) -> None:
    with nodes(tmp_path, 2) as lab:
        _train(lab, 50.0)
        lab.link(1, up=False)
        # beside other work by as much later as it takes of the processors
        patience = LOST_WITHIN * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        assert lab.until(lambda: all(_said(node, LOST) for node in lab.nodes), patience), lab.explain()
        lab.link(1, up=True)
        assert lab.until(lambda: all(_said(node, "resumed") for node in lab.nodes), 60.0), lab.explain()
        ended = lab.finish(STARTUP)
    assert [node.status for node in ended] == [0, 0], lab.explain()
    assert [len(_said(node, LOST)) for node in ended] == [1, 1], lab.explain()
    assert "node-1 (ranks 2-3)" in _said(ended[0], LOST)[0]
    assert "node-0" in _said(ended[1], LOST)[0]
    assert not any(_verdict(node) for node in ended)


def test_a_slow_node_is_named_and_left_alone(tmp_path: Path) -> None:
    with nodes(tmp_path, 2) as lab:
        _train(lab, 40.0, "--on-hang", "stop", "--stall-after", "5", slow=(3, 14.0))
        ended = lab.finish(STARTUP)
    assert [node.status for node in ended] == [0, 0], lab.explain()
    for node in ended:
        assert node.report is not None
        assert (node.report["outcome"], node.report["diagnoses"][0]["culprits"]) == ("slow", [3]), lab.explain()


def test_who_asks_for_a_look_gets_that_of_all_nodes(tmp_path: Path) -> None:
    with nodes(tmp_path, 2) as lab:
        _train(lab, 40.0)
        (watcher,) = _processes(1, "-m ddpdoctor watch")
        watcher.send_signal(signal.SIGQUIT)
        assert lab.until(lambda: lab.nodes[1].report is not None, 30.0), lab.explain()
        report = lab.nodes[1].report
        ended = lab.finish(STARTUP)
    assert report is not None
    assert [rank["host"] for rank in report["ranks"]] == ["node-0", "node-0", "node-1", "node-1"], lab.explain()
    assert report["outcome"] in ("healthy", "slow")
    assert "HEALTHY" not in ended[0].stderr
    assert [node.status for node in ended] == [0, 0]


def test_a_watcher_that_was_killed_is_named_and_the_job_goes_on(tmp_path: Path) -> None:
    with nodes(tmp_path, 2) as lab:
        _train(lab, 50.0, "--on-hang", "stop", slow=(3, 8.0))
        for watcher in _processes(1, "ddpdoctor", "watch"):
            watcher.send_signal(signal.SIGKILL)
        assert lab.until(lambda: bool(_said(lab.nodes[0], LOST)), 60.0), lab.explain()
        assert lab.until(lambda: lab.nodes[0].status is not None, STARTUP), lab.explain()
        left = _processes(1, "store_helper.py")
    assert lab.nodes[0].status == 0, lab.explain()
    assert "node-1 (ranks 2-3) does not answer" in _said(lab.nodes[0], LOST)[0]
    assert not _verdict(lab.nodes[0])
    assert left == []  # the helper has ended with its watcher


def test_a_node_without_a_watcher_is_named_and_nothing_is_said_of_its_ranks(tmp_path: Path) -> None:
    case = CASES["rank-conditional-collective"]
    with nodes(tmp_path, 2) as lab:
        lab.start(0, lab.command(0, case.broken, 2), "--on-hang", "stop", "--stall-after", "6")
        lab.start(1, lab.command(1, case.broken, 2), watched=False)
        assert lab.until(lambda: lab.nodes[0].report is not None, STARTUP), lab.explain()
        time.sleep(10.0)
        report = lab.nodes[0].report
    assert report is not None
    assert lab.nodes[0].status is None
    assert [(d["code"], d["culprits"]) for d in report["diagnoses"]] == [("DD299", [])]
    assert "ranks 2-3: no watcher sees them" in [gap["reason"] for gap in report["gaps"]], lab.explain()


def test_a_rank_that_has_not_begun_hangs_nobody(tmp_path: Path) -> None:
    """The other has waited for it three times as long as a stall takes, and no watcher knows of it yet."""
    with nodes(tmp_path, 2) as lab:
        lab.torchrun(PROGRAMS / "comes_late.py", 1, "--on-hang", "stop", "--stall-after", "4", arguments=["14"])
        ended = lab.finish(STARTUP)
    assert [node.status for node in ended] == [0, 0], lab.explain()
    assert not any(_verdict(node) or _said(node, LOST) for node in ended), lab.explain()


@pytest.mark.parametrize("number", [signal.SIGSTOP])
def test_a_store_that_does_not_answer_is_named_and_the_job_goes_on(number: signal.Signals, tmp_path: Path) -> None:
    with nodes(tmp_path, 2) as lab:
        _train(lab, 60.0, "--on-hang", "stop", slow=(3, 12.0))
        (host,) = (p for p in _processes(0, "torchrun", "--nnodes") if "watch" not in p.cmdline())
        host.send_signal(number)
        assert lab.until(lambda: all(_said(node, LOST) for node in lab.nodes), 60.0), lab.explain()
        host.send_signal(signal.SIGCONT)
        ended = lab.finish(STARTUP)
    assert [node.status for node in ended] == [0, 0], lab.explain()
    assert all("the job's store at node-0:" in _said(node, LOST)[0] for node in ended)
    assert not any(_verdict(node) for node in ended)


def test_a_store_that_was_never_reached_is_named_and_the_job_goes_on(tmp_path: Path) -> None:
    """It has an address of its own, to which the second node loses its way as soon as the ranks have met."""
    with nodes(tmp_path, 2) as lab:
        options = ["--metrics-file", "job.prom", "--on-hang", "stop"]
        for node in range(2):
            program = (PROGRAMS / "steps.py", 2, "60", "--slow", "3", "12")
            lab.start(node, lab.command(node, *program, store=STORE), *options)
        assert lab.until(lambda: all(_steps(node) > 0 for node in lab.nodes), STARTUP), lab.explain()
        lab.reach(1, stores=False)
        assert lab.until(lambda: all(_said(node, LOST) for node in lab.nodes), 90.0), lab.explain()
        lab.reach(1, stores=True)
        ended = lab.finish(STARTUP)
    assert [node.status for node in ended] == [0, 0], lab.explain()
    assert "ranks 2-3" in _said(ended[0], LOST)[0]
    assert f"the job's store at {STORE}:29400" in _said(ended[1], LOST)[0]
    assert not any(_verdict(node) for node in ended)


def test_a_launcher_that_was_killed_with_the_store_is_told_and_its_ranks_go_on(tmp_path: Path) -> None:
    with nodes(tmp_path, 2) as lab:
        for node in range(2):
            program = (PROGRAMS / "steps.py", 2, "60", "--slow", "3", "12")
            command = lab.command(node, *program, store=STORE)
            lab.start(node, command, "--metrics-file", "job.prom", "--on-hang", "stop")
        assert lab.until(lambda: all(_steps(node) >= STEPS for node in lab.nodes), STARTUP), lab.explain()
        (host,) = (p for p in _processes(0, "torchrun", "--nnodes") if "watch" not in p.cmdline())
        host.send_signal(signal.SIGKILL)
        assert lab.until(lambda: lab.nodes[0].status is not None, 30.0), lab.explain()
        assert lab.until(lambda: bool(_said(lab.nodes[1], LOST)), 90.0), lab.explain()
        moved = _steps(lab.nodes[1])
        assert lab.until(lambda: _steps(lab.nodes[1]) > moved, 60.0), lab.explain()
    assert lab.nodes[0].status == 128 + signal.SIGKILL, lab.explain()
    assert f"the job's store at {STORE}:29400" in _said(lab.nodes[1], LOST)[0]
    assert not _verdict(lab.nodes[1])


#: seconds that a name takes which nobody answers for
UNANSWERED = 10.0


def test_a_resolver_that_does_not_answer_delays_neither_the_jobs_store_nor_the_verdict(tmp_path: Path) -> None:
    """torch's store asks for the name of who connects; the job's own clients must not wait for ours."""
    case = CASES["uneven-inputs"]
    with nodes(tmp_path / "moves", 2, silent=True) as lab:
        for node in range(2):
            lab.start(node, lab.command(node, PROGRAMS / "uses_its_store.py", 2, "60", store=FIRST))
        ended = lab.finish(STARTUP)
    assert [node.status for node in ended] == [0, 0], lab.explain()
    worst = [float(line.split()[-1]) for node in ended for line in node.stdout.splitlines() if "rank" in line]
    assert len(worst) == 4
    assert max(worst) < UNANSWERED * 1e3 / 4, worst
    with nodes(tmp_path / "hangs", 2, silent=True) as lab:
        for node in range(2):
            lab.start(node, lab.command(node, case.broken, 2, store=FIRST), "--on-hang", "stop")
        ended = lab.finish(STARTUP)
    for one in ended:
        assert one.report is not None, lab.explain()
        first, timeline = one.report["diagnoses"][0], one.report["timeline"]
        assert (one.report["deadlock"], first["culprits"]) == ("proven", [*case.culprits]), lab.explain()
        assert timeline["reported"] - timeline["last_progress"] < PROVEN_WITHIN + UNANSWERED, lab.explain()


def test_one_watcher_that_stops_is_enough_and_no_other_calls_it_a_crash(tmp_path: Path) -> None:
    case = CASES["uneven-inputs"]
    with nodes(tmp_path, 2) as lab:
        lab.start(0, lab.command(0, case.broken, 2), "--on-hang", "stop")
        lab.start(1, lab.command(1, case.broken, 2))
        ended = lab.finish(STARTUP)
    assert ended[0].status == 124
    assert all(node.report and node.report["diagnoses"][0]["code"] == case.code for node in ended), lab.explain()
    assert _said(ended[1], "the watcher of another node stops the job")
    assert "CRASH" not in ended[1].stderr


#: what is said of nodes that cannot be asked
LOST = "nothing is known of a part of it"
#: steps after which a job counts as one that trains
STEPS = 10


def _train(lab: Nodes, seconds: float, *options: str, slow: tuple[int, float] | None = None) -> None:
    """Start a job that is healthy, and wait until it trains on all nodes."""
    arguments = [str(seconds), *(["--slow", *map(str, slow)] if slow else [])]
    lab.torchrun(PROGRAMS / "steps.py", 2, "--metrics-file", "job.prom", *options, arguments=arguments)
    assert lab.until(lambda: all(_steps(node) >= STEPS for node in lab.nodes), STARTUP), lab.explain()


def _verdict(node: Node) -> bool:
    """Whether anything was reported beside the report of a healthy end, which `--json` asks for."""
    return node.report is not None and node.report["outcome"] != "healthy"


def _steps(node: Node) -> float:
    """The optimizer steps that its watcher has seen."""
    with suppress(OSError):
        for line in (node.folder / "job.prom").read_text().splitlines():
            if line.startswith("ddpdoctor_steps_total"):
                return float(line.split()[-1])
    return 0.0


def _processes(node: int, *words: str) -> list[psutil.Process]:
    """The processes of a node whose command line has all these words."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            line = " ".join(process.cmdline())
            if all(word in line for word in words) and f"node-{node}/" in process.environ().get("XDG_STATE_HOME", ""):
                found.append(process)
    return found


def _said(node: Node, words: str) -> list[str]:
    return [line for line in node.stderr.splitlines() if line.startswith("ddpdoctor:") and words in line]
