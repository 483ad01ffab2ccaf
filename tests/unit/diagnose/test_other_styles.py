"""Programs written in other styles than our fixtures: callbacks, early returns, generators, loops that wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.progress import EventKind, Raised
from tests.unit.diagnose.builders import Act, At, Doing, job, raised

AT = At()
STARTED = AT.all("init_process_group", 1)


def verdict(source: str, ranks: Sequence[Doing], outcome: Outcome = Outcome.HANG) -> Diagnosis:
    report = examine(job(ranks, code={AT.file: source}))
    assert report.outcome is outcome
    return report.diagnoses[0]


def among(odd: Doing, usual: Doing, *, at: int = 1, size: int = 3) -> list[Doing]:
    return [odd if rank == at else usual for rank in range(size)]


ROBUST = """\
def batches(loader):
    it = iter(loader)
    while True:
        try:
            yield next(it)
        except StopIteration:
            return
        except OSError as error:
            print(error)


def train(loader):
    for batch in batches(loader):
        model(batch).sum().backward()
    dist.barrier()
"""


def test_loader_that_raised_is_not_one_with_fewer_batches() -> None:
    # GIVEN a rank whose loader raised once, was asked again, and so delivered one batch fewer
    batch = [AT.next(2), AT.forward(14), AT.backward(14)]
    failed = Act(EventKind.NEXT_RAISED, AT.line(2))
    usual = Doing([*batch * 4])
    odd = Doing([*batch, failed, *batch * 2, AT.stop(2), AT.all("barrier", 15)])
    found = verdict(ROBUST, among(odd, usual))
    # THEN it is the caught exception, for certain, at the `except` that caught it
    assert (found.code, found.confidence) == ("DD208", Confidence.CERTAIN)
    assert found.culprits.members == (1,)
    assert found.locations[0].source == "except OSError as error:"


def test_loader_that_raised_and_is_still_handled_is_no_skipped_batch() -> None:
    # GIVEN a rank that has not come out of its loader's exception: it stands in a `finally`
    batch = [AT.next(2), AT.forward(14), AT.backward(14)]
    failed = Act(EventKind.NEXT_RAISED, AT.line(2))
    error = raised("OSError", "truncated", 80.0, AT.line(2))
    odd = Doing([*batch, failed, AT.all("barrier", 15)], raised=error)
    found = verdict(ROBUST, among(odd, Doing([*batch * 2])))
    assert found.code == "DD253"


NESTED = """\
for epoch in range(3):
    for _ in range(4):
        model(x).sum().backward()
    keep(model)


def keep(model):
    if score() <= best:
        return
    dist.barrier()
    write(model)
"""


def test_early_return_around_a_barrier() -> None:
    # GIVEN a rank that returned before the barrier and began the next epoch's forward, on the line of its backward
    step = [AT.forward(3), AT.backward(3)]
    usual = Doing([*step * 4, AT.all("barrier", 10, function="keep")], callers=(AT.line(4, "<module>"),))
    odd = Doing([*step * 5])
    found = verdict(NESTED, among(odd, usual))
    # THEN the condition of the return is named, not a loop that was left
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert found.locations[0].line == 8


RESUME = """\
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    resume(net)
    dist.barrier()


def resume(net):
    if not path.exists():
        return 0
    for p in net.parameters():
        dist.broadcast(p, 0)
    dist.all_reduce(step)
    return int(step)
"""


def test_file_that_one_rank_sees() -> None:
    # GIVEN a rank inside a loop over the parameters, which is as long everywhere, and others that returned before it
    start = AT.all("init_process_group", 5, function="main")
    odd = Doing([start, AT.broadcast(14, 0, function="resume")], callers=(AT.line(6, "main"),))
    found = verdict(RESUME, among(odd, Doing([start, AT.all("barrier", 7, function="main")])))
    # THEN neither that loop nor a way past the all_reduce behind it is a reason: the condition is
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert found.locations[0].line == 11


EMA = """\
ema = Ema(net) if dist.get_rank() == 0 else None
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
    found = verdict(EMA, among(odd, Doing([*step, *step[:2]]), at=0))
    # THEN `if ema` is a condition on the rank
    assert (found.code, found.culprits.members) == ("DD203", (0,))
    assert "`if ema:`" in found.fix


WALRUS = """\
def chunks(rows):
    while chunk := list(islice(rows, 6)):
        yield chunk


def main():
    for batch in chunks(rows):
        model(batch).sum().backward()
        optimizer.step()
    dist.barrier()
"""


def test_while_that_fetches_is_no_decision() -> None:
    # GIVEN a generator whose `while` ends where its data end
    step = [AT.forward(8), AT.backward(8), AT.update(9)]
    odd, usual = Doing([*step * 2, AT.all("barrier", 10)]), Doing([*step * 2, *step[:2]])
    found = verdict(WALRUS, among(odd, usual))
    assert found.code in ("DD201", "DD299")
    assert found.culprits.members == (1,)


MICRO = """\
def cut(batch):
    group = []
    for row in batch:
        if len(group) == 4:
            yield group
            group = []
        group.append(row)
    yield group


def main():
    for batch in loader:
        for micro in cut(batch):
            model(micro).mean().backward()
        dist.all_reduce(norm)
        optimizer.step()
"""


def test_fewer_rounds_of_an_inner_loop_are_no_extra_call() -> None:
    # GIVEN a rank that cut its batch into fewer parts, so that both meet again in another round's backward
    part = [AT.forward(14), AT.backward(14)]
    end = [AT.all("all_reduce", 15), AT.update(16)]
    usual = Doing([AT.next(12), *part, *end, AT.next(12), *part * 2])
    odd = Doing([AT.next(12), *part, *end, AT.next(12), *part, *end, AT.next(12), *part])
    found = verdict(MICRO, among(odd, usual))
    # THEN the inner loop ended first on it
    assert found.code in ("DD201", "DD202")
    assert (found.culprits.members, found.locations[0].line) == ((1,), 13)


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
    sync = AT.all("all_reduce", 3, function="Sync.forward")
    step = [sync, AT.backward(10), AT.update(11), AT.broadcast(12, 0)]
    usual = Doing([*step, sync], callers=(AT.line(9),))
    odd = Doing([*step, AT.backward(10), AT.update(11), AT.broadcast(12, 0)])
    found = verdict(NORM, among(odd, usual))
    assert (found.code, found.culprits.members) == ("DD210", (1,))


SIGNAL = """\
class Preemption:
    def __init__(self):
        self.requested = threading.Event()
        signal.signal(signal.SIGUSR1, lambda *_: self.requested.set())


def train():
    preemption = Preemption()
    for batch in stream():
        if preemption.requested.is_set():
            dist.barrier()
            return
        model(batch).sum().backward()
"""


def test_signal_handler_without_a_name() -> None:
    step = [AT.forward(13), AT.backward(13)]
    odd = Doing([*step * 2, AT.all("barrier", 11)])
    found = verdict(SIGNAL, among(odd, Doing([*step * 3])))
    assert (found.code, found.locations[0].line) == ("DD216", 10)


NAMES = """\
for name in self.names:
    if name.startswith("al"):
        dist.broadcast(table[name], 0)
    else:
        dist.all_reduce(table[name])
"""


def test_elements_in_another_order() -> None:
    # GIVEN a set's elements, whose order differs between processes, and a condition on nothing but the element
    reduce = AT.all("all_reduce", 5)
    odd, usual = Doing([STARTED, reduce, AT.broadcast(3, 0)]), Doing([STARTED, reduce, reduce])
    found = verdict(NAMES, among(odd, usual))
    assert found.code == "DD213"


POLLING = """\
def acquire(path):
    while True:
        try:
            os.open(path, os.O_CREAT | os.O_EXCL)
            return
        except FileExistsError:
            time.sleep(0.2)


acquire(lock)
dist.all_reduce(x)
"""


def test_exception_that_a_loop_waits_by() -> None:
    # GIVEN a rank that sleeps in the `except` of a loop, with the exception under way
    error = raised("FileExistsError", "lock", 50.0, AT.line(4, "acquire"))
    odd = Doing([STARTED], blocked=False, stands=AT.line(7, "acquire"), callers=(AT.line(10),), raised=None)
    evidence = job(among(odd, Doing([STARTED, AT.all("all_reduce", 11)])), code={AT.file: POLLING})
    evidence = with_pending(evidence, 1, error)
    # THEN it hides no exception
    assert all(one.code != "DD253" for one in examine(evidence).diagnoses)


def test_epoch_that_ended_earlier_and_the_next_began() -> None:
    # GIVEN a rank that ran out, met the others' gradients with its metric, and is in its next epoch
    text = "for epoch in range(3):\n    for x in loader:\n        model(x).backward()\n    dist.all_reduce(wer)\n"
    step = [AT.next(2), AT.forward(3), AT.backward(3)]
    usual = Doing([*step * 4])
    odd = Doing([*step * 3, AT.stop(2), AT.all("all_reduce", 4), *step])
    found = verdict(text, among(odd, usual))
    assert (found.code, found.culprits.members) == ("DD201", (1,))
    assert found.locations[0].line == 2


def with_pending(evidence: Evidence, rank: int, error: Raised) -> Evidence:
    ranks = list(evidence.ranks)
    page = ranks[rank].page
    assert page is not None
    ranks[rank] = replace(ranks[rank], page=replace(page, pending=(error,)))
    return replace(evidence, ranks=tuple(ranks))


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
    found = verdict(GATHER, among(odd, usual))
    assert (found.code, found.culprits.members) == ("DD211", (1,))
    assert found.locations[0].source == "if not self.items:"


MAPPED = """\
def average(name, value):
    dist.all_reduce(value)
    return name, value


def synchronize(self):
    return dict(map(lambda kv: average(*kv), sorted(self.meters.items())))


def main():
    synchronize(logger)
    dist.barrier()
"""


def test_names_in_an_expression() -> None:
    # GIVEN a reduction for each name that is no statement of its own
    reduce = AT.all("all_reduce", 2, function="average")
    usual = Doing([STARTED, reduce, reduce], callers=(AT.line(7, "synchronize"), AT.line(11, "main")))
    odd = Doing([STARTED, reduce, AT.all("barrier", 12, function="main")])
    found = verdict(MAPPED, among(odd, usual))
    assert (found.code, found.culprits.members) == ("DD211", (1,))
    assert found.locations[0].line == 7


def test_all_ranks_in_the_creation_of_different_groups() -> None:
    text = "if rank in members:\n    tp = dist.new_group(members)\nif rank < 2:\n    first = dist.new_group([0, 1])\n"
    places = [2, 4, 2]
    report = examine(job([Doing([STARTED, AT.all("new_group", line)]) for line in places], code={AT.file: text}))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD219", ())
    assert "`if rank in members:`" in found.fix


FIRST = """\
@contextlib.contextmanager
def main_first():
    try:
        if not is_main:
            dist.barrier()
        yield
    finally:
        if is_main:
            dist.barrier()


def load():
    with main_first():
        if not path.exists():
            write(path)
            dist.barrier()


load()
dist.all_reduce(x)
is_main = rank == 0
"""


def test_half_of_a_pair_of_barriers_is_not_the_one_too_much() -> None:
    # GIVEN ranks whose half of a pair met another barrier of rank 0, which hangs in the other half
    extra, half = AT.all("barrier", 16, function="load"), AT.all("barrier", 9, function="main_first")
    odd = Doing([STARTED, extra, half], callers=(AT.line(19),))
    usual = Doing([STARTED, AT.all("barrier", 5, function="main_first"), AT.all("all_reduce", 20)])
    found = verdict(FIRST, among(odd, usual, at=0))
    # THEN the barrier between them is named, and no half of the pair for certain
    assert (found.code, found.culprits.members) == ("DD212", (0,))
    assert found.locations[0].line == 16


RETRY = """\
def upload(step):
    for attempt in range(3):
        try:
            dist.all_reduce(step)
            write(step)
            return
        except OSError:
            attempts.append(step)


def main():
    upload(step)
    dist.barrier()
"""


def test_collective_that_is_tried_again() -> None:
    # GIVEN a rank that failed behind a collective and entered it once more
    reduce = AT.all("all_reduce", 4, function="upload")
    odd = Doing([STARTED, reduce, reduce], callers=(AT.line(12, "main"),))
    usual = Doing([STARTED, reduce, AT.all("barrier", 13, function="main")])
    found = verdict(RETRY, among(odd, usual))
    # THEN it is the caught exception, though both sides make both calls
    assert (found.code, found.culprits.members) == ("DD208", (1,))
    assert found.locations[0].source == "except OSError:"


TIMED = """\
class Saving:
    def due(self):
        return time.monotonic() - self.last > self.seconds

    def step(self, model):
        if self.due():
            dist.barrier()


saving = Saving()
for batch in stream():
    model(batch).sum().backward()
    saving.step(model)
"""


def test_forward_that_waits_in_an_operation_of_its_own_is_not_merely_behind() -> None:
    # GIVEN ranks inside a broadcast that DDP's forward issues itself, of which the history holds no event
    step = [AT.forward(12), AT.backward(12)]
    odd = Doing([*step, AT.all("barrier", 7, function="step")], callers=(AT.line(13, "<module>"),))
    usual = Doing([*step, AT.forward(12), AT.broadcast(12, 1)])
    evidence = job(among(odd, usual), code={AT.file: TIMED})
    ranks = []
    for seen in evidence.ranks:
        page = seen.page
        assert page is not None
        shown = page if seen.rank == 1 else replace(page, events=page.events[:-1])
        ranks.append(replace(seen, page=shown))
    found = examine(replace(evidence, ranks=tuple(ranks))).diagnoses[0]
    # THEN the barrier that one rank came to is what parted them
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert found.locations[0].line == 6


BY_HAND = """\
def step(params):
    if not finite(params):
        return False
    for p in params.parameters():
        dist.all_reduce(p)
    return True


def main():
    for batch in stream():
        loss(batch).backward()
        step(params)
        dist.barrier()
"""


def test_step_that_was_left_out_is_no_other_order() -> None:
    # GIVEN gradients that are reduced by hand, and a rank that left that out in one round
    backward = Act(EventKind.BACKWARD, AT.line(11, "main"))
    reduce, barrier = AT.all("all_reduce", 5, function="step"), AT.all("barrier", 13, function="main")
    odd = Doing([backward, reduce, barrier, backward, barrier])
    usual = Doing([backward, reduce, barrier, backward, reduce], callers=(AT.line(12, "main"),))
    found = verdict(BY_HAND, among(odd, usual))
    # THEN the condition is named, though both sides know both calls
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert found.locations[0].line == 2
