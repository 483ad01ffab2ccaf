"""Collectives that are called under a condition on the rank."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.model.diagnosis import Confidence
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import At, Doing
from tests.unit.diagnose.stories import among
from tests.unit.diagnose.verdicts import everywhere, first, one_odd, verdict

AT = At()


EMA = """\
import torch.distributed as dist; ema = Ema(net) if dist.get_rank() == 0 else None
for batch in stream():
    model(batch).sum().backward()
    optimizer.step()
    if ema:
        ema.update(net)


class Ema:
    def update(self, net):
        for p in net.parameters():
            dist.broadcast(p, src=0)
"""


def test_object_that_only_one_rank_has() -> None:
    # GIVEN a method whose name anything may have, called on an object that only rank 0 makes
    step = [AT.forward(3), AT.backward(3), AT.update(4)]
    odd = Doing([*step, AT.broadcast(12, 0, function="update")], callers=(AT.line(6),))
    found = verdict(EMA, one_odd(odd, Doing([*step, *step[:2]]), at=0))
    # THEN `if ema` is a condition on the rank
    assert (found.code, found.culprits.members) == ("DD203", (0,))
    assert "`if ema:`" in found.fix


@everywhere
def test_collective_under_a_rank_condition(size: int, odd: int) -> None:
    # GIVEN a barrier in a helper that only one rank calls
    found = first(among(size, odd, stories.saves_alone))
    assert (found.code, found.confidence) == ("DD203", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.locations[0].line == 6
    # THEN the fix quotes the condition under which its caller stands
    assert "`if rank == 0 and due():`" in found.fix


FIRST = """\
def main(accelerator):
    with accelerator.main_process_first():
        held_out = stored("held out")


def stored(name):
    dist.all_gather_object(sums, name)
"""


def test_a_call_in_a_block_that_ranks_enter_one_after_the_other() -> None:
    # GIVEN ranks that wait at the head of a block for rank 0, which waits in it for them
    main = At(function="main")
    call = AT.all("all_gather_object", 7, function="stored")
    gather = replace(call, path=(AT.line(7, "stored"), main.line(3)))
    odd, usual = Doing([gather], callers=(main.line(3),)), Doing([main.all("barrier", 2)])
    found = verdict(FIRST, one_odd(odd, usual, at=0))
    # THEN the call is what cannot be where it is
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD203", (0,), 7)
    assert "out of the block `with accelerator.main_process_first()` (train.py:2)" in found.fix


SHOWN = """\
import torch.distributed as dist

class Meters:
    def __str__(self):
        return f"loss {self.mean()}"

    def mean(self):
        if dist.is_initialized():
            dist.all_reduce(self.pair)


def fit(meters):
    for epoch in range(5):
        dist.broadcast(order, 0)
        log.info("epoch %d: %s", epoch, meters)
        dist.barrier()
"""


def test_a_library_that_calls_the_program_back_on_one_rank_only() -> None:
    """Who has another log level formats the message. The condition behind it holds on all ranks, and divides none."""
    fit = At(function="fit")
    path = (AT.line(9, "mean"), AT.line(5, "__str__"), fit.line(15))
    reduce = replace(AT.all("all_reduce", 9, function="mean"), path=path)
    begun = fit.broadcast(14, 0)
    odd, usual = Doing([begun, reduce], callers=path[1:]), Doing([begun, fit.all("barrier", 16)])
    found = verdict(SHOWN, one_odd(odd, usual, at=0))
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD203", (0,), 9)
    assert any("a library called the program back on rank 0 and not on ranks 1-2" in line for line in found.evidence)


HOOKS = """\
class Calibration(Hook):
    def after_step(self):
        if {due}:
            dist.all_gather(parts, self.counts)


def train(hooks):
    for batch in loader():
        model(batch).sum().backward()
        optimizer.step()
        for hook in hooks:
            hook.after_step()
"""


@pytest.mark.parametrize(
    ("due", "code"), [("self.step % self.every == 0", "DD203"), ("self.loss > self.best", "DD206")]
)
def test_a_hook_that_only_one_rank_has(due: str, code: str) -> None:
    """Ranks that never ran a hook have decided nothing in it: what is due every so many rounds is due for all."""
    loop = At(function="train")
    path = (AT.line(4, "after_step"), loop.line(12))
    gather = replace(AT.all("all_gather", 4, function="after_step"), path=path)
    step = [loop.forward(9), loop.backward(9), loop.update(10)]
    odd, usual = Doing([*step * 4, gather], callers=(loop.line(12),)), Doing([*step * 4, *step[:2]])
    found = verdict(HOOKS.format(due=due), one_odd(odd, usual))
    assert (found.code, found.culprits.members) == (code, (1,))
    # THEN nothing is said of how a condition was decided where it was not asked
    assert any(due in line for line in found.evidence) is (code == "DD206")
