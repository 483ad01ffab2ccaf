"""One job of three ranks for every cause of a divergence; rank 1 is the odd one."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.divergence.causes import Cause
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.stories import among

AT = At()
ODD = 1


def _pair(odd: Doing, usual: Doing, program: str) -> Evidence:
    return job([odd if rank == ODD else usual for rank in range(3)], code={AT.file: program})


def _microbatches() -> Evidence:
    program = """\
def train(loader):
    for batch in loader:
        for part in cut(batch):
            loss = model(part).sum()
            loss.backward()
        optimizer.step()
        dist.all_gather(losses, loss)
"""

    def step(parts: int) -> list[Act]:
        cut = [act for _ in range(parts) for act in (AT.forward(4), AT.backward(5))]
        return [AT.next(2), *cut, AT.update(6), AT.all("all_gather", 7)]

    return _pair(Doing([*step(2), *step(3)[:-2]]), Doing([*step(2), *step(2)]), program)


def _sharded_state() -> Evidence:
    program = "def keep():\n    if rank == 1:\n        state = get_model_state_dict(model)\n    dist.barrier()\n"
    step = AT.step(20)
    return _pair(Doing([*step, AT.all("all_gather_into_tensor", 3)]), Doing([*step, AT.all("barrier", 4)]), program)


def _forward_alone() -> Evidence:
    program = "def score(net):\n    return net(held_out)\n\ntrain()\nif rank == 1:\n    score(net)\ndist.barrier()\n"
    alone = [AT.forward(2), AT.broadcast(2, 0, function="score")]
    return _pair(
        Doing([*AT.step(10), *alone], callers=(AT.line(6),)), Doing([*AT.step(10), AT.all("barrier", 7)]), program
    )


def _caught_exception() -> Evidence:
    program = """\
for batch in loader:
    try:
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
    except ValueError:
        pass
dist.barrier()
"""
    step = [AT.next(1), AT.forward(3), AT.backward(4), AT.update(5)]
    odd = Doing([*step, *step[:2], *step[:2], AT.stop(1), AT.all("barrier", 8)])
    return _pair(odd, Doing([*step, *step, *step[:3]]), program)


def _sharded_module() -> Evidence:
    at = At(function="forward")
    program = """\
def forward(self, x):
    x = self.text(x)
    if self.pictures is not None:
        dist.all_reduce(x.mean(0))
    return self.head(x)
"""
    whole = [at.all("all_reduce", line) for line in (2, 4, 5)]
    after = at.all("reduce_scatter", 20, function="train")
    usual, odd = [*whole, after, *whole], [*whole, after, whole[0], whole[2], after]
    return _pair(Doing(odd), Doing(usual), program)


def _fewer_names() -> Evidence:
    program = """\
def report(scores):
    for key in scores:
        dist.all_reduce(scores[key])


def main():
    for epoch in range(9):
        report(train())
        dist.barrier()
"""
    reduced, barrier = AT.all("all_reduce", 3, function="report"), AT.all("barrier", 9, function="main")
    whole = [reduced, reduced, reduced, barrier]
    usual = Doing([*whole, *whole[:3]], callers=(AT.line(8, "main"),))
    return _pair(Doing([*whole, reduced, reduced, barrier]), usual, program)


def _barrier() -> Evidence:
    program = """\
def prepare(path):
    if missing(path):
        build(path)
        dist.barrier()
    read(path)
    dist.barrier()
    dist.all_reduce(total)
"""
    first, second = AT.all("barrier", 4), AT.all("barrier", 6)
    return _pair(Doing([second, AT.all("all_reduce", 7)]), Doing([first, second]), program)


def _order() -> Evidence:
    program = "def a():\n    dist.all_reduce(x)\n\n\ndef b():\n    dist.all_gather(y, x)\n"
    ours, theirs = AT.all("all_reduce", 2, function="a"), AT.all("all_gather", 6, function="b")
    return _pair(Doing([ours, theirs, theirs]), Doing([ours, theirs, ours]), program)


def _smaller_graph() -> Evidence:
    """Rank 1's loss does not use what was gathered, so the reduction in the gather's backward is missing there."""
    program = """\
class Gather(Function):
    def forward(ctx, z):
        return gather(z)

    def backward(ctx, grad):
        dist.reduce(grad, dst=0)
        return grad


def average(params):
    dist.all_reduce(flat(params))


for batch in loader:
    loss = contrast(Gather.apply(batch))
    loss.backward()
    average(net.parameters())
"""
    backward, inner = AT.backward(16), AT.all("reduce", 6, function="backward")
    after = AT.all("all_reduce", 11, function="average")
    usual = Doing([backward, inner, after, backward, inner], callers=(AT.line(16, "<module>"),))
    smaller = Doing([backward, inner, after, backward, after], callers=(AT.line(17, "<module>"),))
    evidence = _pair(smaller, usual, program)
    ranks = []
    for seen in evidence.ranks:
        assert seen.page is not None
        counters = replace(seen.page.counters, backward_left=2 if seen.rank == ODD else 1)
        ranks.append(replace(seen, page=replace(seen.page, counters=counters)))
    return replace(evidence, ranks=tuple(ranks))


def _signal() -> Evidence:
    program = """\
def on_signal(number, frame):
    state.late = True


signal.signal(signal.SIGTERM, on_signal)

import signal
def train(loader):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if state.late:
            break
    dist.barrier()
"""
    steps = [act for _ in range(3) for act in AT.step(9)]
    return _pair(Doing([*steps, AT.all("barrier", 15)]), Doing([*steps, *AT.step(9)[:3]]), program)


def _group_creation() -> Evidence:
    program = "def teams(rank):\n    if rank in TEAM:\n        dist.new_group(TEAM)\n    dist.new_group()\n"
    mine, common = AT.all("new_group", 3), AT.all("new_group", 4)
    return _pair(Doing([common]), Doing([mine, common]), program)


EXAMPLES: dict[Cause, Evidence] = {
    Cause.UNEVEN_INPUTS: among(3, ODD, stories.ran_out),
    Cause.UNEVEN_MICROBATCHES: _microbatches(),
    Cause.RANK_CONDITION: among(3, ODD, stories.saves_alone),
    Cause.SHARDED_STATE: _sharded_state(),
    Cause.FORWARD_ALONE: _forward_alone(),
    Cause.LOCAL_DECISION: among(3, ODD, stories.left_early),
    Cause.SKIPPED_BATCH: among(3, ODD, stories.skipped),
    Cause.CAUGHT_EXCEPTION: _caught_exception(),
    Cause.SMALLER_GRAPH: _smaller_graph(),
    Cause.SHARDED_MODULE: _sharded_module(),
    Cause.FEWER_NAMES: _fewer_names(),
    Cause.BARRIER: _barrier(),
    Cause.ORDER: _order(),
    Cause.SIGNAL: _signal(),
    Cause.NO_SYNC: among(3, ODD, stories.without_sync),
    Cause.GROUP_CREATION: _group_creation(),
}
