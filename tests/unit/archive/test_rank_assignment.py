"""The process that no page or message names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.archive.fragment import Format, Fragment, RankMention, RankSource
from ddpdoctor.archive.rank_assignment import assign_ranks
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread

MAIN = Site("/job/train.py", 9, "main")
LOADING = Site("/env/torch/utils/data/_utils/worker.py", 9, "_worker_loop")


def named(rank: int, size: int | None = 3) -> Fragment:
    mention = Fragment(f"{rank}.page", Format.PAGE, RankMention(), rank=Rank(rank), rank_from=RankSource.CONTENT)
    return replace(mention, pid=100 + rank, world_size=size)


def stacks(pid: int, site: Site = MAIN) -> Fragment:
    seen = Stacks(StackSource.PYSPY_NONBLOCKING, (Thread(pid, "MainThread", (site,)),))
    return Fragment("stacks.json", Format.PYSPY_JSON, seen, pid=pid)


def test_the_one_process_without_a_rank_has_the_one_that_is_left() -> None:
    found = assign_ranks([named(0), named(2), stacks(7), stacks(7)])
    assert [one.pid for one in found.by_rank[Rank(1)]] == [7, 7]
    assert found.unassigned == ()


def test_two_processes_or_two_ranks_are_left_as_they_are() -> None:
    assert len(assign_ranks([named(0), named(2), stacks(7), stacks(8)]).unassigned) == 2
    assert len(assign_ranks([named(0), stacks(7)]).unassigned) == 1
    assert len(assign_ranks([named(0, None), named(2, None), stacks(7)]).unassigned) == 1


def test_a_data_worker_is_no_rank() -> None:
    assert Rank(1) not in assign_ranks([named(0), named(2), stacks(7, LOADING)]).by_rank


@pytest.mark.parametrize(
    ("waits", "loads"),
    [
        ("/env/torch/utils/data/dataloader.py", LOADING.file),
        ("/env/torchdata/stateful_dataloader/stateful_dataloader.py", "/env/torchdata/stateful_dataloader/worker.py"),
    ],
)
def test_a_data_worker_belongs_to_the_only_rank_that_waits_for_data(waits: str, loads: str) -> None:
    rank = replace(stacks(101, Site(waits, 9, "_get_data")), rank=Rank(1), rank_from=RankSource.CONTENT)
    worker = stacks(7, replace(LOADING, file=loads))
    found = assign_ranks([named(0), rank, named(2), worker])
    assert worker.payload in [fragment.payload for fragment in found.by_rank[Rank(1)]]
