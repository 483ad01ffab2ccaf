"""One small training program with the faults that end with the same stacks."""

from __future__ import annotations

from collections.abc import Callable

from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.builders import Act, At, Doing, job

AT = At()
MAIN = AT.line(30, "main")
LOOP = 10
#: the program that the builders' line numbers belong to
PROGRAM = """\
import torch.distributed as dist


def save(model):
    write(model)
    dist.barrier()


def train(model, loader, optimizer, rank):
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        if rank == 0 and due():
            save(model)
        if torch.isnan(loss):
            continue
        if plateau(loss):
            break
        report(loss)
    dist.barrier()
    collect(loss)


def collect(loss):
    for name in order():
        dist.all_reduce(loss)


def main():
    train(*setup())


main()
"""
CODE = {AT.file: PROGRAM}
BARRIER_AFTER = 21


def epoch(steps: int) -> list[Act]:
    return [act for _ in range(steps) for act in AT.step(LOOP)]


def in_backward(steps: int) -> Doing:
    """Blocked in the backward of the last of `steps` batches."""
    return Doing([*epoch(steps - 1), *AT.step(LOOP)[:3]], callers=(MAIN,))


def after_loop(acts: list[Act]) -> Doing:
    return Doing([*acts, AT.all("barrier", BARRIER_AFTER)], callers=(MAIN,))


def ran_out() -> Doing:
    """One batch fewer than the others, with its iterator's own end."""
    return after_loop([*epoch(3), AT.stop(LOOP)])


def left_early() -> Doing:
    """A break after the third batch."""
    return after_loop(epoch(3))


def skipped() -> Doing:
    """The second batch's backward is missing; the epoch is over."""
    batch = AT.step(LOOP)
    return after_loop([*batch, *batch[:2], *epoch(2), AT.stop(LOOP)])


def skipped_forward() -> Doing:
    """The second batch is missing altogether; its iterator delivered it."""
    batch = AT.step(LOOP)
    return after_loop([*batch, batch[0], *epoch(2), AT.stop(LOOP)])


def without_sync() -> Doing:
    """The second batch under no_sync."""
    batch = AT.step(LOOP)
    quiet = [batch[0], AT.forward_no_sync(LOOP + 1), *batch[2:]]
    return after_loop([*batch, *quiet, *epoch(2), AT.stop(LOOP)])


def saves_alone() -> Doing:
    """In save()'s barrier, which is called from line 15 under `if rank == 0`."""
    acts = [*epoch(3), AT.all("barrier", 6, function="save")]
    return Doing(acts, callers=(AT.line(15), MAIN))


def among(size: int, odd: int, strange: Callable[[], Doing], others: Doing | None = None) -> Evidence:
    """A job of `size` ranks in which only rank `odd` diverged."""
    usual = others or in_backward(4)
    return job([strange() if rank == odd else usual for rank in range(size)], code=CODE)
