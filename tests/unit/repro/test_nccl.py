"""When a machine can run a fixture on NCCL, and what it says when it cannot."""

from __future__ import annotations

import pytest

from ddpdoctor.repro.nccl import Nccl


@pytest.mark.parametrize(
    ("found", "ranks", "why"),
    [
        (Nccl(0, ()), 2, "this torch has no NCCL"),
        (Nccl(0, (2, 30, 7)), 2, "torch finds no GPU"),
        (Nccl(1, (2, 29, 7)), 2, "2 ranks on 1 GPU need NCCL 2.30 or newer, and torch has 2.29.7"),
        (Nccl(2, (2, 29, 7)), 3, "3 ranks on 2 GPUs need NCCL 2.30 or newer, and torch has 2.29.7"),
        (Nccl(1, (2, 30, 7)), 2, ""),
        (Nccl(4, (2, 21, 5)), 4, ""),
    ],
)
def test_what_a_machine_refuses(found: Nccl, ranks: int, why: str) -> None:
    assert found.refuses(ranks) == why


def test_ranks_that_share_a_gpu_are_allowed_to() -> None:
    assert Nccl(1, (2, 30, 7)).environment(2)["NCCL_MULTI_RANK_GPU_ENABLE"] == "1"
    assert Nccl(2, (2, 30, 7)).environment(2) == {}
