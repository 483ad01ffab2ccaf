"""One rank requests the state of a sharded model, in a separate program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.builders import At, Doing, job

AT = At()
PROGRAM = """\
def keep(model, rank):
    if rank == 0:
        state = {call}(model)
        write(state)
    dist.barrier()
"""


def _job(call: str, odd: int) -> Evidence:
    code = {AT.file: PROGRAM.format(call=call)}
    steps = [act for _ in range(3) for act in AT.step(20)]
    saves = Doing([*steps, AT.all("all_gather_into_tensor", 3)])
    waits = Doing([*steps, AT.all("barrier", 5)])
    return job([saves if rank == odd else waits for rank in range(3)], code=code)


@pytest.mark.parametrize("odd", range(3))
@pytest.mark.parametrize("call", ["get_model_state_dict", "engine.save_checkpoint"])
def test_who_asks_alone(odd: int, call: str) -> None:
    report = examine(_job(call, odd))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD204", (odd,), 3)
    assert call.rpartition(".")[2] in found.summary
    assert [d.code for d in report.diagnoses] == ["DD204"]


def test_a_gather_of_the_users_own_is_another_cause() -> None:
    report = examine(_job("gather_scores", 0))
    assert report.diagnoses[0].code == "DD203"


def test_without_the_source_and_stacks_nobody_can_say_so() -> None:
    evidence = _job("get_model_state_dict", 0)
    report = examine(replace(evidence, code={}))
    assert "DD204" not in [d.code for d in report.diagnoses]
    assert all(d.confidence is not Confidence.CERTAIN for d in report.diagnoses)


def test_the_barrier_with_which_deepspeeds_checkpoints_begin_gathers_nothing() -> None:
    library = At("/env/lib/python3.11/site-packages/deepspeed/runtime/engine.py")
    user = AT.line(3, "keep")
    barrier = AT.all("barrier", 3)
    met = replace(barrier, site=user, path=(library.line(50, "barrier"), library.line(90, "save_checkpoint"), user))
    steps = [act for _ in range(3) for act in AT.step(20)]
    saves, waits = Doing([*steps, met]), Doing([*steps, *AT.step(20)[:3]])
    code = {AT.file: PROGRAM.format(call="engine.save_checkpoint").replace("    dist.barrier()\n", "")}
    found = examine(job([saves, waits, waits], code=code)).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD203", (0,), 3)
