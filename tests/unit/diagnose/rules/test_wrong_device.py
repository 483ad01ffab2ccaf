"""A first NCCL collective that does not return, and whether the source selected a device."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.builders import At, Doing, job

AT = At()
PROGRAM = """\
def main():
    {choice}
    dist.init_process_group("nccl")
    dist.all_reduce(torch.ones(1, device="cuda"))
    dist.barrier()
"""


def _job(choice: str = "pass", *, backend: str = "nccl", before: int = 0) -> Evidence:
    code = {AT.file: PROGRAM.format(choice=choice)}
    acts = [AT.all("init_process_group", 3), *[AT.all("all_reduce", 4)] * (before + 1)]
    return job([Doing(acts) for _ in range(2)], code=code, backend=backend)


def _codes(evidence: Evidence) -> dict[str, str]:
    return {d.code: d.confidence.value for d in examine(evidence).diagnoses}


def test_no_device_was_chosen() -> None:
    assert _codes(_job())["DD263"] == "possible"


@pytest.mark.parametrize("choice", ["torch.cuda.set_device(local_rank)", "accelerator = Accelerator()"])
def test_a_device_was_chosen(choice: str) -> None:
    assert "DD263" not in _codes(_job(choice))


@pytest.mark.parametrize("choice", ["# never torch.cuda.set_device(0)\n    pass", "log('see CUDA_VISIBLE_DEVICES=0')"])
def test_words_in_comments_and_messages_choose_nothing(choice: str) -> None:
    assert _codes(_job(choice))["DD263"] == "possible"


def test_other_backends_and_later_collectives_have_other_causes() -> None:
    assert "DD263" not in _codes(_job(backend="gloo"))
    assert "DD263" not in _codes(_job(before=1))
