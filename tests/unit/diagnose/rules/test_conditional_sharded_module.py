"""A module that communicates in its forward and is skipped on one rank."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import TORCH, Act, At, Doing, job
from tests.unit.diagnose.verdicts import one_odd, verdict

AT = At(function="forward")
PROGRAM = """\
def forward(self, x):
    x = self.text(x)
    if self.pictures is not None:
        x = x + {call}
    return self.head(x)
"""
FSDP = Site(f"{TORCH}/distributed/fsdp/_fully_shard/_fsdp_collectives.py", 119, "foreach_all_gather")


def _job(call: str, op: str, odd: int) -> Evidence:
    code = {AT.file: PROGRAM.format(call=call)}

    def acts(steps: int, skip: bool) -> list[Act]:
        done: list[Act] = []
        for step in range(steps):
            done += [AT.all(op, 2)]
            done += [] if skip and step == steps - 1 else [AT.all(op, 4)]
            done += [AT.all(op, 5), AT.all("reduce_scatter", 20, function="train")]
        return done

    usual = Doing(acts(3, skip=False)[:-1])
    left_out = Doing(acts(3, skip=True))
    return job([left_out if rank == odd else usual for rank in range(3)], code=code)


def _under_fsdp(evidence: Evidence) -> Evidence:
    ranks = []
    for rank in evidence.ranks:
        assert rank.stacks is not None
        main = rank.stacks.threads[0]
        frames = (main.frames[0], FSDP, *main.frames[1:])
        ranks.append(replace(rank, stacks=Stacks(StackSource.PYSPY, (Thread(main.os_id, main.name, frames),))))
    return replace(evidence, ranks=tuple(ranks))


@pytest.mark.parametrize("odd", range(3))
def test_a_shard_that_one_rank_leaves_out(odd: int) -> None:
    report = examine(_under_fsdp(_job("self.look(self.pictures)", "all_gather_into_tensor", odd)))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD210", (odd,), 4)


@pytest.mark.parametrize("odd", range(3))
def test_a_layer_that_communicates(odd: int) -> None:
    report = examine(_job("dist.all_reduce(x.mean(0))", "all_reduce", odd))
    assert (report.diagnoses[0].code, report.diagnoses[0].culprits.members) == ("DD210", (odd,))


def test_without_sharding_in_any_stack_it_is_not_said() -> None:
    report = examine(_job("self.look(self.pictures)", "all_gather_into_tensor", 1))
    assert "DD210" not in [d.code for d in report.diagnoses]


@pytest.mark.parametrize("odd", range(3))
def test_a_layer_whose_absence_is_met_by_the_next_call(odd: int) -> None:
    code = {AT.file: PROGRAM.format(call="dist.all_reduce(x.mean(0))")}
    layer, after = AT.all("all_reduce", 4), AT.all("barrier", 20, function="train")
    usual, left_out = Doing([layer, after, layer]), Doing([layer, after, after])
    report = examine(job([left_out if rank == odd else usual for rank in range(3)], code=code))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD210", (odd,), 4)
    assert "DD213" not in [d.code for d in report.diagnoses]


MAIN = At()


NORM = """\
class Sync(Function):
    def forward(ctx, x):
        dist.all_reduce(s)
        return x


def train():
    for batch in stream():
        loss = head(batch)
        loss.backward()
        optimizer.step()
        dist.broadcast(loss, 0)
"""


def test_layer_that_one_rank_left_out() -> None:
    # GIVEN ranks inside a layer's own all_reduce, and one that is past the forward without it
    sync = MAIN.all("all_reduce", 3, function="Sync.forward")
    step = [
        sync,
        MAIN.backward(10),
        MAIN.update(11),
        MAIN.broadcast(12, 0),
    ]
    usual = Doing([*step, sync], callers=(MAIN.line(9),))
    odd = Doing(
        [
            *step,
            MAIN.backward(10),
            MAIN.update(11),
            MAIN.broadcast(12, 0),
        ]
    )
    found = verdict(NORM, one_odd(odd, usual))
    assert (found.code, found.culprits.members) == ("DD210", (1,))


@pytest.mark.parametrize("odd", range(3))
def test_a_shard_is_left_out_and_the_next_forward_gathers_in_another_group(odd: int) -> None:
    """One line runs all experts, which have a group of their own; it looks like groups in another order."""
    expert = AT.all("all_gather_into_tensor", 4, group="1")
    head, back = AT.all("all_gather_into_tensor", 5), AT.all("reduce_scatter", 20, function="train")
    whole = [AT.all("all_gather_into_tensor", 2), *[expert] * 3, head, back]
    usual = Doing([*whole * 3, *whole[:4]])
    left_out = Doing([*whole * 3, *whole[:3], head])
    code = {AT.file: PROGRAM.format(call="self.look(self.pictures)")}
    evidence = job([left_out if rank == odd else usual for rank in range(3)], code=code, groups={"1": (0, 1, 2)})
    found = examine(_under_fsdp(evidence)).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD210", (odd,), 4)


METHOD = """\
class Norm(nn.Module):
    def moments(self, x):
        dist.all_gather(rows, x.sum(0))

    def forward(self, x):
        return x - self.moments(x)


class Net(nn.Module):
    def encode(self, x):
        if x.any():
            x = self.norm(x)
        return x

    def forward(self, x):
        return self.encode(x)


def main():
    for x in rows():
        loss = net(x).sum()
        loss.backward()
"""


@pytest.mark.parametrize("odd", range(3))
def test_a_method_that_the_forward_calls_communicates(odd: int) -> None:
    main = At(function="main")
    within = [(3, "moments"), (6, "forward"), (12, "encode"), (16, "forward"), (21, "main")]
    path = tuple(AT.line(*place) for place in within)
    gather = replace(AT.all("all_gather", 3, function="moments"), path=path)
    forward, backward = main.forward(21), main.backward(22)
    step = [forward, gather, backward]
    usual, left_out = Doing([*step * 3, *step[:2]], callers=path[1:]), Doing([*step * 3, forward, backward])
    evidence = job([left_out if rank == odd else usual for rank in range(3)], code={AT.file: METHOD})
    found = examine(evidence).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD210", (odd,))


WRITES = """\
class Language(nn.Module):
    def forward(self, text):
        return self.head(self.body(text))


def write(model, text):
    while True:
        if text.is_long():
            break
        text = text + model(text)
        {trains}


def main():
    while True:
        write(model, first())
        dist.all_reduce(counts)
"""


@pytest.mark.parametrize("odd", range(3))
@pytest.mark.parametrize(("trains", "code"), [(False, "DD210"), (True, "DD206")])
def test_a_generation_that_ends_earlier_runs_fewer_forwards_of_the_shards(odd: int, trains: bool, code: str) -> None:
    here, main = At(function="write"), At(function="main")
    gather = replace(AT.all("all_gather_into_tensor", 3, function="forward"))
    gather = replace(gather, path=(gather.site, here.line(10), main.line(16)))
    turn = [here.forward(10), gather, *([here.backward(11)] if trains else [])]
    counts = main.all("all_reduce", 17)
    before = [*turn * 5, counts] * 2
    usual = Doing([*before, *turn * 3, *turn[:2]], callers=(here.line(10), main.line(16)))
    early = Doing([*before, *turn * 3, counts])
    text = WRITES.format(trains="loss(text).backward()" if trains else "pass")
    evidence = _under_fsdp(job([early if rank == odd else usual for rank in range(3)], code={AT.file: text}))
    found = examine(evidence).diagnoses[0]
    # a loop that trains is left by a decision of one rank
    assert (found.code, found.culprits.members, found.locations[0].line) == (code, (odd,), 9)


COUNTED = """\
class Language(nn.Module):
    def forward(self, text):
        return self.head(self.body(text))


def write(model, text, limit):
    for {turn}:
        text = text + model(text)
    return text


def main():
    for text in texts:
        write(model, text, len(text))
    dist.all_reduce(counts)
"""


@pytest.mark.parametrize(("turn", "counted"), [("_ in range(limit)", True), ("part in text", False)])
def test_a_generation_is_counted_and_data_end(turn: str, counted: bool) -> None:
    """The rank that runs more forwards is the odd one; a loop over data has another reason to end."""
    here, main = At(function="write"), At(function="main")
    gather = AT.all("all_gather_into_tensor", 3, function="forward")
    gather = replace(gather, path=(gather.site, here.line(8), main.line(14)))
    step = [here.forward(8), gather]
    counts = main.all("all_reduce", 15)
    longer = Doing([*step * 7], callers=(here.line(8), main.line(14)))
    evidence = job(
        [Doing([*step * 6, counts]), longer, Doing([*step * 6, counts])], code={AT.file: COUNTED.format(turn=turn)}
    )
    found = examine(_under_fsdp(evidence)).diagnoses[0]
    assert (found.code, found.confidence is not Confidence.POSSIBLE) == ("DD210", counted)
    assert found.culprits.members == (1,)


EXCHANGE = """\
class Exchange{base}:
    def __call__(self, x):
        if self.is_sparse(x):
            dist.all_gather(rows, x)
        dist.all_reduce(x)


def train():
    while True:
        Exchange()(x)
"""


@pytest.mark.parametrize(("base", "module"), [("(nn.Module)", True), ("", False)])
def test_a_class_that_is_no_module_runs_no_forward(base: str, module: bool) -> None:
    train = At(function="train")
    gather, reduce = (AT.all(op, line, function="__call__") for op, line in (("all_gather", 4), ("all_reduce", 5)))
    gather, reduce = (replace(act, path=(act.site, train.line(10))) for act in (gather, reduce))
    usual = Doing([gather, reduce, reduce, reduce], callers=(train.line(10),))
    odd = Doing([gather, reduce, reduce, gather], callers=(train.line(10),))
    found = examine(job([usual, odd, usual], code={AT.file: EXCHANGE.format(base=base)})).diagnoses[0]
    assert ((found.code == "DD210"), found.culprits.members) == (module, (1,))


EXITS = """\
class ExitNet(nn.Module):
    def __init__(self, depth):
        self.stages = {made}

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
            if self.is_sure(x):
                break
        return x


def evaluate():
    for x in data:
        model(x)
    dist.all_reduce(totals)
"""


@pytest.mark.parametrize(("made", "known"), [("nn.ModuleList(Stage() for _ in range(depth))", True), ("plan()", False)])
def test_parts_of_a_model_are_as_many_on_all_ranks(made: str, known: bool) -> None:
    outer = At(function="evaluate")
    gather = AT.all("all_gather_into_tensor", 7, function="forward")
    gather = replace(gather, path=(gather.site, outer.line(15)))
    totals = outer.all("all_reduce", 16)
    turn = [outer.forward(15), gather, gather, gather]
    usual, sure = Doing([*turn * 4], callers=(outer.line(15),)), Doing([*turn * 3, *turn[:-1], totals])
    evidence = _under_fsdp(job([usual, sure, usual], code={AT.file: EXITS.format(made=made)}))
    found = examine(evidence).diagnoses[0]
    assert (found.code, found.confidence is not Confidence.POSSIBLE) == ("DD210", known)
    assert found.culprits.members == (1,)


STOPS = """\
class Net(nn.Module):
    def forward(self, x):
        return self.head(self.body(x))


def train():
    while True:
        if is_good(loss):
            break
        loss = model(x)
        optimizer.step()
    dist.barrier()
"""


def test_a_loop_of_the_program_that_was_left_is_none_over_the_parts_of_a_model() -> None:
    """The shards gather in it, since it trains: what is wrong is the decision."""
    train = At(function="train")
    gather = AT.all("all_gather_into_tensor", 3, function="forward")
    gather = replace(gather, path=(gather.site, train.line(10)))
    turn = [gather, train.update(11)]
    usual = Doing([*turn * 4, gather], callers=(train.line(10),))
    good = Doing([*turn * 4, train.all("barrier", 12)])
    found = examine(_under_fsdp(job([usual, good, usual], code={AT.file: STOPS}))).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD206", (1,), 9)


PARTS = """\
class Net(nn.Module):
    def forward(self, x):
        x = self.stem(x)
        if x.any():
            x = self.extra(x)
        return x.mean()


def evaluate():
    for x in data:
        model(x)
    dist.all_reduce(totals)
"""


def test_a_part_that_the_last_forward_of_a_loop_left_out() -> None:
    outer = At(function="evaluate")
    stem, extra = (
        replace(act, path=(act.site, outer.line(11)))
        for act in (AT.all("all_gather_into_tensor", line, function="forward") for line in (3, 5))
    )
    turn, totals = [outer.forward(11), stem, extra], outer.all("all_reduce", 12)
    usual, odd = Doing(turn * 4, callers=(outer.line(11),)), Doing([*turn * 3, *turn[:-1], totals])
    found = examine(_under_fsdp(job([usual, odd, usual], code={AT.file: PARTS}))).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD210", (1,))
    # THEN the condition is shown, and no loop is said to have been left
    assert (found.locations[0].line, "left the loop" in found.summary) == (4, False)
