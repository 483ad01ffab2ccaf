"""Random programs of sends and receives, most of which match."""

from __future__ import annotations

import random

RANKS = 4
BARRIER = "barrier"


def program(seed: int) -> list[list[tuple[str, int]]]:
    """(operation, other rank) of each rank in order; the other rank of a barrier is -1."""
    draw = random.Random(seed)
    taking_part = draw.choice((2, 3, RANKS))
    steps: list[list[tuple[str, int]]] = [[] for _ in range(RANKS)]
    for _ in range(draw.randint(1, 6)):
        source, target = draw.sample(range(taking_part), 2)
        send, receive = ("send" if draw.random() < 0.7 else "isend"), ("recv" if draw.random() < 0.7 else "irecv")
        _insert(draw, steps[source], (send, target))
        if draw.random() < 0.93:
            _insert(draw, steps[target], (receive, source))
    if draw.random() < 0.4:
        for own in steps:
            _insert(draw, own, (BARRIER, -1))
    return steps


def _insert(draw: random.Random, steps: list[tuple[str, int]], step: tuple[str, int]) -> None:
    steps.insert(draw.randint(0, len(steps)), step)


def source(seed: int) -> str:
    """The program as a script."""
    lines = [
        "import torch", "import torch.distributed as dist", "", "dist.init_process_group('gloo')",
        "rank = dist.get_rank()", "x, kept = torch.zeros(3), []",
    ]  # fmt: skip
    for rank, steps in enumerate(program(seed)):
        lines.append(f"if rank == {rank}:")
        lines += ["    dist.all_reduce(x)" if op == BARRIER else f"    kept.append(dist.{op}(x, {peer}))"
                  for op, peer in steps] or ["    pass"]  # fmt: skip
    return "\n".join(lines) + "\n"
