"""Loops over names with fewer iterations on one rank, and loops that only look like them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.verdicts import first, one_odd, verdict

AT = At()
PROGRAM = """\
def report(scores):
    for {target} in {iterable}:
        dist.all_reduce({value})


def main():
    for epoch in range(9):
        report(train())
        dist.barrier()


main()
"""
CALLERS = (AT.line(8, "main"), AT.line(12, "<module>"))


def _job(target: str, iterable: str, value: str, *, odd: int, size: int = 3, missing: int = 1) -> Evidence:
    code = {AT.file: PROGRAM.format(target=target, iterable=iterable, value=value)}
    reduced = AT.all("all_reduce", 3, function="report")
    barrier = AT.all("barrier", 9, function="main")
    first = [reduced] * 3 + [barrier]
    usual = Doing([*first, *[reduced] * 3], callers=CALLERS)
    fewer = Doing([*first, *[reduced] * (3 - missing), barrier], callers=CALLERS[1:])
    return job([fewer if rank == odd else usual for rank in range(size)], code=code)


@pytest.mark.parametrize("odd", range(3))
@pytest.mark.parametrize(
    ("target", "iterable", "value"),
    [("key", "scores", "scores[key]"), ("name, one", "sorted(scores.items())", "one"), ("v", "scores.values()", "v")],
)
def test_fewer_names(odd: int, target: str, iterable: str, value: str) -> None:
    report = examine(_job(target, iterable, value, odd=odd))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD211", (odd,), 2)
    assert "DD213" not in [d.code for d in report.diagnoses]


@pytest.mark.parametrize("odd", range(2))
@pytest.mark.parametrize(("usually", "now", "culprits"), [(3, (2, 3), 0), (2, (2, 3), 1), (0, (2, 3), None)])
def test_two_ranks_have_no_majority_but_habits(
    odd: int, usually: int, now: tuple[int, int], culprits: int | None
) -> None:
    """The rank with another number of names than in the passes before is the odd one; the first pass tells nothing."""
    code = {AT.file: PROGRAM.format(target="k", iterable="scores", value="scores[k]")}
    reduced = AT.all("all_reduce", 3, function="report")
    barrier = AT.all("barrier", 9, function="main")
    before = ([reduced] * usually + [barrier]) * 2 if usually else []
    fewer = Doing([*before, *[reduced] * now[0], barrier], callers=CALLERS[1:])
    more = Doing([*before, *[reduced] * now[1]], callers=CALLERS)
    sides = [fewer, more] if odd == 0 else [more, fewer]
    found = examine(job(sides, code=code)).diagnoses[0]
    blamed = () if culprits is None else (abs(odd - culprits),)
    assert (found.code, found.culprits.members) == ("DD211", blamed)


def test_a_line_may_communicate_several_times_for_each_name() -> None:
    """A metric of a library meets in a barrier and gathers, once for each of its states and not always alike."""
    code = {AT.file: PROGRAM.format(target="k", iterable="scores", value="scores[k]")}
    meets, gathers = (AT.all(op, 3, function="report") for op in ("barrier", "all_gather"))
    one = [meets, gathers, gathers, meets, gathers]
    after = AT.all("all_reduce", 9, function="main")
    before = [*one * 3, after] * 2
    fewer = Doing([*before, *one * 2, after], callers=CALLERS[1:])
    more = Doing([*before, *one * 2, meets], callers=CALLERS)
    found = examine(job([more, fewer], code=code)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD211", (1,))


HELPER = """\
class Meters:
    def reduce_all(self):
        for name in sorted(self.meters):
            self.meters[name].reduce()

    def every(self, rows):
        for row in rows:
            yield row


class Meter:
    def reduce(self):
        dist.barrier()
        dist.all_reduce(self.total)


def main():
    for epoch in range(9):
        meters = Meters()
        for row in meters.every(loader()):
            train(row).backward()
        meters.reduce_all()


main()
"""


def test_the_call_may_be_in_a_function_that_the_loop_calls() -> None:
    calls = [AT.all("barrier", 13, function="reduce"), AT.all("all_reduce", 14, function="reduce")]
    main = At(function="main")
    rows = [AT.next(7), main.forward(21), main.backward(21), AT.stop(7)]
    inside = (AT.line(4, "reduce_all"), AT.line(22, "main"), AT.line(25, "<module>"))
    usual = [*rows, *calls * 3, *rows]
    more = Doing([*usual, *calls * 2, calls[0]], callers=inside)
    fewer = Doing([*usual, *calls * 2, *rows[:3]], callers=inside[2:])
    found = examine(job([more, fewer], code={AT.file: HELPER})).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD211", (1,), 3)


def test_a_loop_over_anything_else_is_not_one_over_names() -> None:
    report = examine(_job("batch", "stream()", "evaluate(batch)", odd=1))
    assert "DD211" not in [d.code for d in report.diagnoses]


STARTED = AT.all("init_process_group", 1)


ROUNDS = """\
class Report:
    def __init__(self):
        self.found = []

    def publish(self):
        if not self.found:
            return []
        dist.all_gather_object(parts, self.found)


def train(loader):
    for batch in loader:
        dist.all_reduce(step(batch))


def validate(loader):
    for batch in loader:
        dist.all_gather(parts, score(batch))


def main():
    for epoch in range(9):
        train(loader)
        validate(held_out)
        report.publish()


main()
"""


@pytest.mark.parametrize("odd", range(3))
def test_a_loop_in_which_the_others_are_anew_was_left_by_nobody(odd: int) -> None:
    """All have left the loop of the training, and those that publish nothing are in that of the next epoch."""
    trained, scored = AT.all("all_reduce", 13, function="train"), AT.all("all_gather", 18, function="validate")
    published = AT.all("all_gather_object", 8, function="publish")
    began = AT.line(28, "<module>")
    usual = Doing([trained, scored, published], callers=(AT.line(25, "main"), began))
    empty = Doing([trained, scored, trained], callers=(AT.line(23, "main"), began))
    found = verdict(ROUNDS, [empty if rank == odd else usual for rank in range(3)])
    assert (found.code, found.confidence, found.culprits.members) == ("DD211", Confidence.LIKELY, (odd,))
    assert found.locations[0].line == 6


GATHER = """\
class Predictions:
    def __init__(self):
        self.items = []

    def gather(self):
        if not self.items:
            return []
        dist.all_gather_object(box, self.items)
        return box


def evaluate():
    dist.init_process_group("gloo")
    found = predictions.gather()
    dist.barrier()
"""


def test_rank_with_nothing_to_give_returns_early() -> None:
    start = AT.all("init_process_group", 13, function="evaluate")
    usual = Doing([start, AT.all("all_gather_object", 8, function="gather")], callers=(AT.line(14, "evaluate"),))
    odd = Doing([start, AT.all("barrier", 15, function="evaluate")])
    found = verdict(GATHER, one_odd(odd, usual))
    assert (found.code, found.culprits.members) == ("DD211", (1,))
    assert found.locations[0].source == "if not self.items:"


MAPPED = """\
def average(name, value):
    dist.all_reduce(value)
    return name, value


def synchronize(self):
    return {expression}


def main():
    synchronize(logger)
    dist.barrier()
"""


@pytest.mark.parametrize(
    "expression",
    [
        "dict(map(lambda kv: average(*kv), sorted(self.meters.items())))",
        "{name: average(name, self.meters[name]) for name in sorted(self.meters)}",
    ],
)
def test_names_in_an_expression(expression: str) -> None:
    # GIVEN a reduction for each name that is no statement of its own
    reduce = AT.all("all_reduce", 2, function="average")
    usual = Doing([STARTED, reduce, reduce], callers=(AT.line(7, "synchronize"), AT.line(11, "main")))
    odd = Doing([STARTED, reduce, AT.all("barrier", 12, function="main")])
    found = verdict(MAPPED.replace("{expression}", expression), one_odd(odd, usual))
    assert (found.code, found.culprits.members) == ("DD211", (1,))
    assert found.locations[0].line == 7


GATHERED = """\
def report(meter):
    return accelerator.gather(meter.averages())


def main():
    report(meter)
    dist.barrier()
"""
NESTED = """\
def recursively(function, data):
    return {k: recursively(function, v) for k, v in data.items()}


def gather(data):
    return recursively(dist.all_gather, data)
"""


def test_names_that_a_library_goes_over_are_those_that_the_jobs_line_gives_it() -> None:
    library = At("/env/lib/python3.11/site-packages/gatherer/operations.py", "recursively")
    frames = (library.line(2), library.line(6, "gather"), AT.line(2, "report"), AT.line(6, "main"))
    gather = replace(AT.all("all_gather", 2, function="report"), path=frames)
    barrier = AT.all("barrier", 7, function="main")
    usual, odd = Doing([STARTED, gather, gather]), Doing([STARTED, gather, barrier])
    found = first(job([usual, odd, usual], code={AT.file: GATHERED, library.file: NESTED}))
    assert (found.code, found.culprits.members) == ("DD211", (1,))
    # THEN the line shown is the job's
    assert (found.locations[0].file, found.locations[0].line) == (AT.file, 2)


LIBRARY = """\
def results(self):
    for name, result in self.valid_items():
        result.reduce()


def log(self, name, value):
    if self.sync:
        dist.all_reduce(value)


def run(self):
    for batch in self.loader:
        self.step(batch)
    dist.broadcast(stop, 0)
"""
STEP = """\
def step(self, batch):
    found = batch.labels.bool()
    if found.any():
        self.log("recall", recall(found))
    return loss(batch)


def main():
    trainer.run()
"""
FITTER = At("/env/lib/python3.11/site-packages/fitter/loop.py", "run")


def _within(act: Act, *frames: Site) -> Act:
    """An act of the library, for one line of the job."""
    site = next(frame for frame in frames if frame.file == AT.file)
    return replace(act, site=site, path=(*frames, AT.line(9, "main")) if frames[-1].line != 9 else frames)


def test_names_that_the_program_gave_a_library_long_before() -> None:
    """Neither the job's line nor a majority of rounds tells: all ranks are where one line runs the whole program."""
    main = AT.line(9, "main")
    reduced = _within(AT.all("all_reduce", 0), FITTER.line(3, "results"), main)
    after = _within(AT.broadcast(0, 0), FITTER.line(14), main)
    start = replace(STARTED, path=(AT.line(1, "main"),))
    usual, odd = Doing([start, reduced, reduced, reduced]), Doing([start, reduced, reduced, after])
    found = first(job([usual, odd, usual], code={AT.file: STEP, FITTER.file: LIBRARY}))
    assert (found.code, found.culprits.members) == ("DD211", (1,))
    # THEN the condition on which a value was given is shown first, if there is one of these alone
    assert [place.line for place in found.locations[:2]] == [3, 9]
    twice = STEP.replace("    return loss", "    if batch.long:\n        self.log('long', 1.0)\n    return loss")
    assert first(job([usual, odd, usual], code={AT.file: twice, FITTER.file: LIBRARY})).locations[0].line == 9
    synced = twice.replace("recall(found))", "recall(found), sync_dist=True)")
    assert first(job([usual, odd, usual], code={AT.file: synced, FITTER.file: LIBRARY})).locations[0].line == 3
    # THEN a function that only has such a name gives no value
    plain = STEP.replace("    return loss", "    if batch.long:\n        torch.log(found)\n    return loss")
    assert first(job([usual, odd, usual], code={AT.file: plain, FITTER.file: LIBRARY})).locations[0].line == 3
    # THEN a call of the loop's own on the other side is another order, and nothing about names
    other = _within(AT.all("all_gather", 0), FITTER.line(3, "results"), main)
    odd = Doing([start, reduced, reduced, other])
    report = examine(job([usual, odd, usual], code={AT.file: STEP, FITTER.file: LIBRARY}))
    assert "DD211" not in [d.code for d in report.diagnoses]


def test_a_value_that_is_not_logged_although_a_library_reduces_it() -> None:
    main, step = AT.line(9, "main"), FITTER.line(13)
    logged = _within(AT.all("all_reduce", 0), FITTER.line(8, "log"), AT.line(4, "step"), step, main)
    forward = _within(AT.forward(0), step, main)
    backward = _within(AT.backward(0), step, main)
    round_ = [forward, logged, backward]
    usual, odd = Doing([*round_ * 4, forward, logged]), Doing([*round_ * 4, forward, backward])
    found = examine(job([usual, odd, usual], code={AT.file: STEP, FITTER.file: LIBRARY})).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD211", (1,), 3)
    # THEN a function of the library that takes no name is a decision like any other
    synced = LIBRARY.replace("def log", "def sync")
    act = _within(AT.all("all_reduce", 0), FITTER.line(8, "sync"), AT.line(4, "step"), step, main)
    round_ = [forward, act, backward]
    usual, odd = Doing([*round_ * 4, forward, act]), Doing([*round_ * 4, forward, backward])
    found = examine(job([usual, odd, usual], code={AT.file: STEP, FITTER.file: synced})).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD206", (1,))
