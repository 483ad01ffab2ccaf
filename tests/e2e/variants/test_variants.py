"""Variants of the main causes: other world sizes, culprits and launchers, and code that hides the collective."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ddpdoctor.repro.catalogue import root
from tests.e2e.job import STARTUP, Run, is_told, torchrun, watch

HERE = Path(__file__).parent
FIXTURES = root()


@dataclass(frozen=True)
class Expected:
    """What must be said of one run. With several codes any is right; `culprits` None leaves the culprit open."""

    codes: tuple[str, ...]
    culprits: tuple[int, ...] | None
    outcome: str = "hang"
    deadlock: str = "proven"
    stall_after: int | None = None
    #: text of the first location's line, "" where it is not asked for
    line: str = ""


def other_sizes() -> list[tuple[str, int, Expected]]:
    """The fixtures with other numbers of ranks; the culprits follow from how their data fall on the ranks."""
    table: list[tuple[str, int, Expected]] = []
    for ranks in (2, 3, 5, 6):
        table.append(("uneven-inputs", ranks, Expected(("DD201",), (ranks - 1,))))
    for ranks in (2, 4, 5, 6):
        table.append(("rank-conditional-collective", ranks, Expected(("DD203",), (0,))))
        table.append(("skipped-batch", ranks, Expected(("DD207",), (1,))))
    table.append(("collective-order-mismatch", 2, Expected(("DD213", "DD299"), None)))
    table.append(("group-order-cycle", 2, Expected(("DD220",), None)))
    for ranks in (4, 6):
        table.append(("collective-order-mismatch", ranks, Expected(("DD213",), (1,))))
        table.append(("group-order-cycle", ranks, Expected(("DD220",), (1,))))
    for ranks in (2, 5):
        table.append(("slow-host-work", ranks, Expected(("DD231",), (0,), "slow", "no", stall_after=10)))
        stopped = Expected(("DD244",), (31 % ranks,), "hang", "suspected", stall_after=10)
        table.append(("stopped-process", ranks, stopped))
        table.append(("rank-died", ranks, Expected(("DD251",), (419 % ranks,), "crash", "no")))
    table.append(("rank-finished-early", 5, Expected(("DD252",), (3, 4))))
    table.append(("rank-finished-early", 6, Expected(("DD252",), (3, 4, 5))))
    return table


PROGRAMS = [
    ("cpu_limit", 3, Expected(("DD251",), (1,), "crash", "no")),
    ("null_pointer", 3, Expected(("DD251",), (2,), "crash", "no")),
    ("dies_last", 3, Expected(("DD251",), (1,), "crash", "no", line="raise ValueError(")),
    ("barrier_in_logger", 4, Expected(("DD203",), (3,), line="dist.barrier()")),
    ("barrier_in_logger", 2, Expected(("DD203",), (1,), line="dist.barrier()")),
    ("early_return", 3, Expected(("DD203",), (0,), line="dist.barrier()")),
    ("empty_collate", 4, Expected(("DD207",), (2,), line="continue")),
    ("stream_skipped", 3, Expected(("DD207",), (1,), line="continue")),
    ("stream_shorter", 3, Expected(("DD201",), (1,), line="in enumerate(batches):")),
    ("store_wait", 4, Expected(("DD252",), (3,), deadlock="suspected", stall_after=10)),
    ("mesh_cycle", 4, Expected(("DD220",), None)),
    ("checkpoint_thread", 3, Expected(("DD220",), None, line="")),
    ("bad_file_in_worker", 3, Expected(("DD208",), (1,), line="except OSError as error:")),
    ("main_process_first", 3, Expected(("DD212",), (0,), line="so that all see the file")),
    ("nothing_found", 3, Expected(("DD211",), (2,), line="if not self.found:")),
    ("node_local_checkpoint", 3, Expected(("DD206",), (0,), line="if not checkpoint.exists():")),
    ("fewer_messages", 3, Expected(("DD218",), (1,))),
    ("synchronised_layer", 3, Expected(("DD210",), (1,), line="dist.all_reduce(mean)")),
    ("unread_child", 2, Expected(("DD239",), (0,), deadlock="suspected", stall_after=10, line="converter.wait()")),
    ("greedy_pattern", 3, Expected(("DD231",), (1,), "slow", "no", stall_after=10, line="TITLE.match(text)")),
]

PYTHON = sys.executable
LAUNCHED = [
    ("spawn", [PYTHON, str(HERE / "spawned_uneven.py")], Expected(("DD201",), (2,), line="in loader:")),
    (
        "module",
        [
            *(PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "3"),
            str(FIXTURES / "rank-conditional-collective" / "broken.py"),
        ],
        Expected(("DD203",), (0,), line="dist.barrier()"),
    ),
    (
        "by-hand",
        ["sh", str(HERE / "launch_by_hand.sh"), PYTHON, str(FIXTURES / "skipped-batch" / "broken.py"), "3"],
        Expected(("DD207",), (1,), line="continue"),
    ),
]


@pytest.mark.parametrize(
    ("name", "ranks", "expected"),
    other_sizes(),
    ids=lambda value: str(value) if not isinstance(value, Expected) else "",
)
def test_other_world_sizes(name: str, ranks: int, expected: Expected, tmp_path: Path) -> None:
    _check(torchrun(FIXTURES / name / "broken.py", ranks), expected, tmp_path)


@pytest.mark.parametrize(
    ("name", "ranks", "expected"), PROGRAMS, ids=lambda value: str(value) if not isinstance(value, Expected) else ""
)
def test_other_programs(name: str, ranks: int, expected: Expected, tmp_path: Path) -> None:
    _check(torchrun(HERE / f"{name}.py", ranks), expected, tmp_path)


@pytest.mark.parametrize(
    ("command", "expected"),
    [pytest.param(*given, id=name) for name, *given in LAUNCHED],
)
def test_other_launchers(command: list[str], expected: Expected, tmp_path: Path) -> None:
    _check(command, expected, tmp_path)


def test_accelerate_launch(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    launcher = [str(Path(PYTHON).with_name("accelerate")), "launch", "--multi_gpu", "--num_processes", "3"]
    command = [*launcher, "--main_process_port", "0", str(HERE / "accelerated_save.py")]
    _check(command, Expected(("DD203",), (0,), line="accelerator.wait_for_everyone()"), tmp_path)


def _check(command: list[str], expected: Expected, folder: Path) -> None:
    patience = [] if expected.stall_after is None else ["--stall-after", str(expected.stall_after)]
    run = watch(
        command,
        folder,
        *("--on-hang", "stop"),
        *patience,
        timeout=STARTUP + 45,
        until=lambda report: is_told(report, expected.outcome),
    )
    assert run.report["outcome"] == expected.outcome, run.explain()
    assert run.report["deadlock"] == expected.deadlock, run.explain()
    assert run.first["code"] in expected.codes, run.explain()
    if expected.culprits is None:
        assert run.first["culprit_confidence"] != "certain", run.explain()
    else:
        assert run.first["culprits"] == list(expected.culprits), run.explain()
    if expected.line:
        assert expected.line in _line(run), run.explain()
    if run.report["deadlock"] == "proven":
        assert run.status == 124, run.explain()


def _line(run: Run) -> str:
    """Text of the first location's line."""
    location = run.first["locations"][0]
    return Path(location["file"]).read_text(encoding="utf-8").splitlines()[int(location["line"]) - 1]
