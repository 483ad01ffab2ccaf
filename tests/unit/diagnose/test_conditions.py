"""What separated the ranks, asked of the interpreter: the rank, values of a rank's own, or nothing that differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.conditions import depends_on, gaps, rank_condition
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.facts import Facts, digest
from ddpdoctor.lint import dependence
from ddpdoctor.model.dependence import DependsOn
from ddpdoctor.model.diagnosis import Diagnosis
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.ranks import RankSet
from tests.unit.diagnose.builders import At, Doing, job

AT = At(function="main")
UTILS = "/job/utils.py"
HEAD = """\
import time, random, signal, threading
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from utils import Topology, chief_only, is_main
"""
HELPERS = """\
import functools, os
import torch.distributed as dist

def is_main():
    return not dist.is_initialized() or dist.get_rank() == 0

class Topology:
    def __init__(self):
        self.local = int(os.environ["LOCAL_RANK"])
    @property
    def is_node_main(self):
        return self.local == 0

def chief_only(function):
    @functools.wraps(function)
    def inner(*args):
        if is_main():
            return function(*args)
    return inner
"""
LOOP = """\
def main():
    dist.init_process_group()
    {before}
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        if {condition}:
            dist.all_reduce(loss)

main()
"""
#: lines of the program
NEXT, CALL, START = 9, 14, 16


def parted(text: str, doing: Sequence[Doing], utils: str = HELPERS) -> Evidence:
    return job(doing, code={AT.file: text, UTILS: utils})


def among(text: str, odd: int, utils: str = HELPERS) -> Evidence:
    """Rank `odd` of three is in the call in the loop, the others in the next batch's backward."""
    step = AT.step(NEXT)
    callers = (AT.line(START, "<module>"),)
    alone = Doing([*step, *step, AT.all("all_reduce", CALL)], callers=callers)
    usual = Doing([*step, *step, *step[:3]], callers=callers)
    return parted(text, [alone if rank == odd else usual for rank in range(3)], utils)


def verdict(condition: str, odd: int = 0, before: str = "pass") -> Diagnosis:
    return examine(among(HEAD + LOOP.format(condition=condition, before=before), odd)).diagnoses[0]


@pytest.mark.parametrize(
    ("condition", "before", "said"),
    [
        ("is_main()", "pass", "`is_main()` is true on rank 0 only"),
        ("topology.is_node_main", "topology = Topology()", "`topology.is_node_main` is true on local rank 0 only"),
        ("writer", "writer = torch.Writer() if is_main() else None", "`writer` is true on rank 0 only"),
        ("not me and busy()", "me = dist.get_rank()", "`not me and busy()` depends on the rank"),
    ],
)
def test_a_condition_on_the_rank(condition: str, before: str, said: str) -> None:
    found = verdict(condition, before=before)
    assert (found.code, found.culprits.members) == ("DD203", (0,))
    assert any(line.endswith(said) for line in found.evidence)


@pytest.mark.parametrize(
    ("condition", "before", "said"),
    [
        ("rank_loss > 3", "rank_loss = 0", ""),
        ("batch.sum().item() > 3", "pass", "`batch.sum().item() > 3` depends on this rank's data"),
        ("time.time() - start > 60", "start = time.time()", "`time.time() - start > 60` depends on the clock"),
        ("random.random() < 0.1", "pass", "`random.random() < 0.1` depends on random numbers"),
        ("plateau(loss)", "pass", ""),
    ],
)
def test_a_condition_on_what_each_rank_has_for_itself(condition: str, before: str, said: str) -> None:
    found = verdict(condition, before=before)
    assert (found.code, found.culprits.members) == ("DD206", (0,))
    assert not said or said in found.evidence


def test_a_condition_on_a_signal() -> None:
    event = "stop = threading.Event(); signal.signal(signal.SIGUSR1, lambda *_: stop.set())"
    found = verdict("stop.is_set()", odd=2, before=event)
    assert (found.code, found.culprits.members) == ("DD216", (2,))
    assert "`stop.is_set()` tests `stop`, which lambda sets when a signal arrives" in found.evidence


def test_a_condition_that_holds_on_another_rank_has_not_separated_them() -> None:
    assert verdict("is_main()", odd=0).code == "DD203"
    assert verdict("is_main()", odd=1).code == "DD206"


def test_the_helper_of_a_file_that_is_not_there_goes_by_its_name() -> None:
    text = HEAD.replace("Topology, chief_only, ", "") + LOOP.format(condition="is_main()", before="pass")
    evidence = among(text, 0)
    alone = replace(evidence, code={AT.file: evidence.code[AT.file]})
    assert examine(alone).diagnoses[0].code == "DD203"
    # WHEN the file that runs was changed THEN nothing is read from it
    changed = {path: replace(file, changed=True) for path, file in evidence.code.items()}
    assert depends_on(digest(replace(evidence, code=changed)), AT.line(13)) is None


DECORATED = (
    HEAD
    + """\
@chief_only
def report(loss):
    dist.all_reduce(loss)

def main():
    report(torch.zeros(1))

main()
"""
)


def test_a_decorator_of_the_program_stands_on_the_stack() -> None:
    facts = digest(parted(DECORATED, [Doing([AT.all("barrier", 10)])] * 2))
    wrapper = replace(AT.line(18, "inner"), file=UTILS)
    found = rank_condition(facts, wrapper, (AT.line(10), AT.line(12, "<module>")))
    assert found is not None
    assert (found.span.text, found.test) == ("if is_main():", "is_main()")


HOOKS = """\
import torch, torch.distributed as dist, lightning as L
from lightning.pytorch.utilities import rank_zero_only

class Net(L.LightningModule):
    @rank_zero_only
    def summary(self, loss):
        self.all_gather(loss)

    def training_step(self, batch, index):
        loss = self.layer(batch)
        if batch.isnan().any():
            dist.barrier()
        return loss

L.Trainer().fit(Net())
"""


def test_a_decorator_of_a_framework() -> None:
    facts = digest(parted(HOOKS, [Doing([AT.all("barrier", 7)])] * 2))
    found = rank_condition(facts, AT.line(7, "summary"), (AT.line(10, "training_step"),))
    assert found is not None
    assert found.span.text == "@rank_zero_only"


def test_a_condition_around_a_call_in_a_framework_s_hook() -> None:
    # GIVEN no way through the source that leads from the last common step into the hook
    fit = AT.line(15, "<module>")
    library = replace(AT.line(40, "run"), file="/env/lib/python3.11/site-packages/lightning/loop.py")
    step = [replace(act, site=library) for act in AT.step(1)]
    common = [AT.broadcast(15, 0, function="<module>"), *step]
    odd = Doing([*common, AT.all("barrier", 12, function="training_step")], callers=(library, fit))
    usual = Doing([*common, common[0]], callers=(library,))
    found = examine(parted(HOOKS, [usual, odd, usual])).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert "`batch.isnan().any()` depends on this rank's data" in found.evidence


def _facts() -> Facts:
    return digest(among(HEAD + LOOP.format(condition="is_main()", before="pass"), 0))


def test_a_program_that_is_too_large_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = _facts()
    told = depends_on(facts, AT.line(13))
    assert told is not None
    assert told.on is DependsOn.RANK
    assert gaps(facts) == ()
    monkeypatch.setattr(dependence.Conditions.__init__, "__defaults__", (0,))
    report = examine(facts.evidence)
    assert any("too large" in gap.reason for gap in report.gaps)


@pytest.mark.parametrize(
    ("condition", "odd", "reference", "fits"),
    [
        ("rank == 0", (0,), (1, 2, 3, 4, 5), True),
        ("rank == 0", (1,), (0, 2, 3, 4, 5), False),
        ("rank != 0", (1, 2, 3, 4, 5), (0,), True),
        ("rank == world - 1", (5,), (0, 1, 2, 3, 4), True),
        ("rank % 2 == 0", (0, 2, 4), (1, 3, 5), True),
        ("rank % 2 == 0", (1, 3, 5), (0, 2, 4), False),
        ("rank < world // 2", (0, 1, 2), (3, 4, 5), True),
        ("rank in (1, 3)", (4,), (0, 1), False),
        ("rank in mine", (4,), (0, 1), True),
    ],
)
def test_the_ranks_that_came_past_it_are_those_that_it_lets(
    condition: str, odd: tuple[int, ...], reference: tuple[int, ...], fits: bool
) -> None:
    head = "import torch.distributed as dist\nrank = dist.get_rank(); world = dist.get_world_size()\n"
    text = f"{head}if {condition}:\n    x()\n"
    facts = digest(job([Doing([AT.all("barrier", 4)])] * 6, code={AT.file: text}))
    found = rank_condition(facts, AT.line(4), (), RankSet.of(odd), RankSet.of(reference))
    assert (found is not None) is fits


@pytest.mark.parametrize(
    "line",
    [
        "later(lambda: dist.broadcast(x, 0))",
        "dist.broadcast(x, 0) if ready else None",
        "found = [dist.broadcast(x, 0) for _ in range(2)]",
    ],
)
def test_expressions_that_hold_a_call_are_no_bodies(line: str) -> None:
    text = f"def f(rank, x):\n    if rank == 0:\n        {line}\n"
    facts = digest(job([Doing([AT.all("barrier", 1)])] * 2, code={AT.file: text}))
    found = rank_condition(facts, AT.line(3, "f"))
    assert found is not None
    assert found.span.first == 2
