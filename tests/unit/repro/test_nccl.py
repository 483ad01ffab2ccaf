"""When a machine can run a fixture on NCCL, with how many ranks, and the message if it cannot."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from ddpdoctor.cli import repro_backend
from ddpdoctor.errors import UsageError
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.repro import nccl
from ddpdoctor.repro.case import Case
from ddpdoctor.repro.catalogue import load_all, root
from ddpdoctor.repro.nccl import Nccl

CASES = load_all(root())
EITHER = next(case for case in CASES if case.name == "uneven-inputs")
OWN_GPU = next(case for case in CASES if case.name == "wrong-device")


@pytest.mark.parametrize(
    ("found", "ranks", "why"),
    [
        (Nccl(0, ()), 2, "this torch has no NCCL"),
        (Nccl(2, ()), 2, "this torch has no NCCL"),
        (Nccl(0, (2, 30, 7)), 2, "torch finds no GPU"),
        (Nccl(1, (2, 29, 7)), 2, "2 ranks on 1 GPU need NCCL 2.30 or newer, and torch has 2.29.7"),
        (Nccl(2, (2, 29, 7)), 3, "3 ranks on 2 GPUs need NCCL 2.30 or newer, and torch has 2.29.7"),
        (Nccl(0, (), "torch did not say"), 2, "torch did not say"),
        (Nccl(1, (2, 30, 7)), 2, ""),
        (Nccl(1, (2, 29, 7)), 1, ""),
        (Nccl(4, (2, 21, 5)), 4, ""),
    ],
)
def test_what_a_machine_refuses(found: Nccl, ranks: int, why: str) -> None:
    assert found.why_not(EITHER, ranks) == why


def test_a_case_about_the_choice_of_a_gpu_needs_one_for_each_rank() -> None:
    why = "each of its 2 ranks needs a GPU of its own, and torch finds 1 GPU"
    assert Nccl(1, (2, 30, 7)).why_not(OWN_GPU, 2) == why
    assert Nccl(2, (2, 30, 7)).why_not(OWN_GPU, 2) == ""


def test_ranks_that_share_a_gpu_are_allowed_to() -> None:
    assert Nccl(1, (2, 30, 7)).environment(2)["NCCL_MULTI_RANK_GPU_ENABLE"] == "1"
    assert Nccl(2, (2, 30, 7)).environment(2) == {}


def test_two_ranks_share_a_gpu_where_two_show_the_fault() -> None:
    at_three = dataclasses.replace(EITHER, ranks=3, culprits=RankSet.of([1]), elsewhere={4: RankSet.of([1])})
    at_two = dataclasses.replace(at_three, elsewhere={2: RankSet.of([1])})
    one, four = Nccl(1, (2, 30, 7)), Nccl(4, (2, 30, 7))
    assert [found.ranks_for(case) for case in (at_two, at_three) for found in (one, four)] == [2, 3, 3, 3]


def test_a_torch_that_does_not_answer_is_not_a_torch_without_nccl(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*args: object, **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, "", "Traceback ...\nOSError: libcudart.so.13: cannot open\n")

    monkeypatch.setattr(subprocess, "run", breaks)
    assert nccl.find().unknown == "torch could not be queried: OSError: libcudart.so.13: cannot open"


@pytest.mark.parametrize(("version", "found"), [((2, 30, 7), (2, 30, 7)), ((2, 30, 7, "beta"), (2, 30, 7)), (2708, ())])
def test_what_torch_says_of_its_nccl(
    version: object, found: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a torch that has NCCL and one GPU, as far as it is asked
    text = f"""
from types import SimpleNamespace as Space
distributed = Space(is_available=lambda: True, is_nccl_available=lambda: True)
cuda = Space(device_count=lambda: 1, nccl=Space(version=lambda: {version!r}))
"""
    (tmp_path / "torch.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert nccl.find() == Nccl(1, found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_is_refused_in_one_line_where_there_is_no_nccl(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl, "find", lambda: Nccl(0, ()))
    with pytest.raises(UsageError) as caught:
        repro_backend.choose(case, "nccl", None)
    assert "\n" not in caught.value.message + caught.value.hint
    if "nccl" in case.backends:
        assert caught.value.message == f"{case.name} cannot run on NCCL here: this torch has no NCCL"
    else:
        assert caught.value.message == f"{case.name} does not run on NCCL: {case.only_because.rstrip('.')}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_told_of_a_case(case: Case) -> None:
    told = repro_backend.backends_of(case)
    assert told.startswith(f"{case.name} needs " if case.needed else f"{case.name} runs on {case.backends[0]}")
    assert all(part in told for part in (*case.needed, *case.backends, case.only_because))
    # who is to blame, and of what, is the same on both
    assert not {"outcome", "code", "culprits"} & set(case.nccl_differs)


def test_all_cases_on_a_machine_with_one_gpu() -> None:
    found = Nccl(1, (2, 30, 7))
    planned = {case.name: repro_backend.plan_for(case, found) for case in CASES}
    assert planned["uneven-inputs"] == (2, "")
    assert planned["wrong-device"][1].startswith("cannot run on NCCL here: each of its 2 ranks needs a GPU")
    assert planned["transport-stall"][1].startswith("does not run on NCCL: It drops the packets")
    assert {name for name, (_, why) in planned.items() if not why} == {
        case.name for case in CASES if case.backends == ("gloo", "nccl")
    }
    assert repro_backend.plan_for(EITHER, None) == (4, "")


@pytest.mark.parametrize("found", [Nccl(0, ()), Nccl(0, (2, 30, 7)), Nccl(0, (), "torch did not say")])
def test_no_case_is_started_where_none_can_run(found: Nccl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl, "find", lambda: found)
    with pytest.raises(UsageError, match="no case can run on NCCL here: "):
        repro_backend.nccl_of_machine("nccl")
    assert repro_backend.nccl_of_machine(None) is None


def test_the_backend_that_was_asked_for() -> None:
    assert repro_backend.choose(EITHER, None, None) == (4, None)
    assert repro_backend.choose(EITHER, "gloo", 2) == (2, None)
    with pytest.raises(UsageError, match="wrong-device does not run on gloo: On gloo there is no GPU to select"):
        repro_backend.choose(OWN_GPU, "gloo", None)
