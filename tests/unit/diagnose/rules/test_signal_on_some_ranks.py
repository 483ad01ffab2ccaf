"""A loop that one rank leaves because a signal's handler set a flag."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.builders import At, Doing, job
from tests.unit.diagnose.verdicts import one_odd, verdict

AT = At()
PROGRAM = """\
import signal, threading; stop = threading.Event()


def on_signal(number, frame):
    {sets}


signal.signal(signal.SIGTERM, on_signal)


def train(loader):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if {asks}:
            break
    dist.barrier()
"""


def _job(sets: str, asks: str, odd: int) -> Evidence:
    code = {AT.file: PROGRAM.format(sets=sets, asks=asks)}
    steps = [act for _ in range(3) for act in AT.step(12)]
    left = Doing([*steps, AT.all("barrier", 18)])
    on = Doing([*steps, *AT.step(12)[:3]])
    return job([left if rank == odd else on for rank in range(3)], code=code)


@pytest.mark.parametrize("odd", range(3))
@pytest.mark.parametrize(("sets", "asks"), [("stop.set()", "stop.is_set()"), ("state.late = True", "state.late")])
def test_a_flag_of_the_handler(sets: str, asks: str, odd: int) -> None:
    report = examine(_job(sets, asks, odd))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD216", (odd,), 17)
    assert "DD206" not in [d.code for d in report.diagnoses]


def test_another_condition_is_another_cause() -> None:
    assert examine(_job("stop.set()", "plateau(loss)", 1)).diagnoses[0].code == "DD206"


SIGNAL = """\
class Preemption:
    def __init__(self):
        self.requested = threading.Event()
        signal.signal(signal.SIGUSR1, lambda *_: self.requested.set())

import signal, threading
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
    found = verdict(SIGNAL, one_odd(odd, Doing([*step * 3])))
    assert (found.code, found.locations[0].line) == ("DD216", 10)
