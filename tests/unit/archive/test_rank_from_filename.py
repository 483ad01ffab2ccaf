"""Ranks from names of files and folders."""

from __future__ import annotations

import pytest

from ddpdoctor.archive import rank_from_filename


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("nccl_trace_rank_3", 3),
        ("comm_lib_trace_rank_12", 12),
        ("logs/rank3.txt", 3),
        ("rank-03/stderr.log", 3),
        ("global_rank=7.out", 7),
        ("trainer_2.log", 2),
        ("frank_3.txt", None),
        ("ranking.txt", None),
        ("train.log", None),
        ("drank3", None),
    ],
)
def test_names_that_say_it(name: str, rank: int | None) -> None:
    assert rank_from_filename.explicit_rank(name) == rank


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("slurm-812_0.out", "slurm-812_1.out", "slurm-812_2.out"), (0, 1, 2)),
        (("run_9w/attempt_0/0/stderr.log", "run_9w/attempt_0/1/stderr.log"), (0, 1)),
        (("0.log", "1.log", "2.log", "3.log"), (0, 1, 2, 3)),
        (("pyspy-8112.txt", "pyspy-8113.txt"), (None, None)),
        (("1.log", "2.log"), (None, None)),
        (("a.log",), (None,)),
        (("2024-01-01.log", "2024-01-02.log"), (None, None)),
        (("0/8112.stacks.json", "1/8112.stacks.json"), (None, None)),
    ],
)
def test_a_series_counts_from_zero(names: tuple[str, ...], expected: tuple[int | None, ...]) -> None:
    found = rank_from_filename.ranks(names)
    assert tuple(found.get(name) for name in names) == expected


def test_process_ids() -> None:
    assert rank_from_filename.pid("x/8112.stacks.json") == 8112
    assert rank_from_filename.pid("pyspy-8112.txt") == 8112
    assert rank_from_filename.pid("2024-01-02.log") is None


def test_a_dumps_own_number() -> None:
    assert rank_from_filename.rank_of("/x/nccl_trace_rank_3") == 3
    assert rank_from_filename.rank_of("/x/fr/17") == 17
    assert rank_from_filename.rank_of("/x/dump3.json") == 3
    assert rank_from_filename.rank_of("/x/dump") is None
