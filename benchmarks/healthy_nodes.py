"""Healthy jobs on two to four nodes, one of which is slow or has a rank that is: all nodes must leave them alone."""

from __future__ import annotations

import random
import threading
import time
from contextlib import suppress
from pathlib import Path

from tests.e2e.job import STARTUP, Report
from tests.e2e.nodes import Nodes, nodes

PROGRAMS = Path(__file__).parents[1] / "tests" / "e2e"
#: kinds of tests/e2e/healthy in which somebody is late
KINDS = (
    *("slow_node", "slow_compiling", "slow_polling", "slow_reading", "slow_saving", "slow_tokenizing", "cold_start"),
    *("rank_zero_evaluates", "one_rank_evaluates_long", "long_step"),
)
#: (nodes, ranks on each)
SHAPES = ((2, 1), (2, 2), (3, 1), (4, 1))


def run(
    kind: str, seed: int, folder: Path, options: tuple[str, ...], stop: threading.Event
) -> tuple[int, list[Report], int | None]:
    """Run one job to its end, a watcher with these options on every node. `kind` is one of KINDS.

    Returns the number of ranks, every distinct report of any node, oldest first, and the gravest status of the
    watchers, None if one did not end in time.
    """
    dice = random.Random(f"{kind} {seed}")
    number, ranks = dice.choice(SHAPES)
    turned = dice.randrange(number * ranks)
    program, arguments = PROGRAMS / "healthy" / f"{kind}.py", ["--seed", str(seed)]
    if turned and kind != "slow_node":
        program, arguments = PROGRAMS / "programs" / "turned.py", [str(turned), str(program), *arguments]
    with nodes(folder, number) as lab:
        lab.torchrun(program, ranks, *options, arguments=arguments)
        reports = _followed(lab, stop)
        statuses = [node.status for node in lab.nodes]
        if any(statuses):
            (folder / "said.txt").write_text(lab.explain(), encoding="utf-8")
    return number * ranks, reports, None if None in statuses else max(map(abs, filter(None, statuses)), default=0)


def _followed(lab: Nodes, stop: threading.Event) -> list[Report]:
    """What the watchers reported until all have ended."""
    found: list[Report] = []
    deadline = time.monotonic() + 2 * STARTUP
    while time.monotonic() < deadline and not stop.is_set():
        over = all(node.status is not None for node in lab.nodes)
        for node in lab.nodes:
            with suppress(OSError):
                report = node.report
                if report is not None and report not in found:
                    found.append(report)
        if over:
            break
        time.sleep(0.2)
    return found
