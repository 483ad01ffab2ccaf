"""Every program that accepts `--backend nccl` runs with its tensors on a simulated GPU."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ddpdoctor.repro.catalogue import load_all, root
from tests.e2e.job import torchrun

#: imports torch, which only the ranks are to do
REHEARSAL = Path(__file__).with_name("rehearsal.py")
#: programs that the stand-in for a GPU cannot carry, and why
BEYOND = {
    "conditional-sharded-module": "sharded parameters are views that C++ makes",
    "sharded-state-on-one-rank": "sharded parameters are views that C++ makes",
    "fsdp2-skipped-bad-loss": "sharded parameters are views that C++ makes",
    "fsdp2-weight-norm-on-one-rank": "sharded parameters are views that C++ makes",
    "dtensor-weight-report": "weights on a mesh are sent to their device in C++",
    "pipeline-last-stage-stops": "the step of a schedule initialises CUDA itself",
    "join-misuse": "Join drives DDP's own reducer",
    "rank-conditional-collective": "a recurrent layer lays its weights out in C++",
    "slow-host-work": "an embedding bag asks its input for its device from within torch",
    "uninterruptible-io": "it needs a file server",
}
CASES = [case for case in load_all(root()) if case.backends == ("gloo", "nccl") and case.name not in BEYOND]


def _rehearse(program: Path) -> subprocess.CompletedProcess[str]:
    command = torchrun(REHEARSAL, 2)
    return subprocess.run(
        [*command, str(program)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.parametrize("program", [pytest.param(case.fixed, id=case.name) for case in CASES])
def test_the_cured_program_keeps_its_tensors_on_its_device(program: Path) -> None:
    done = _rehearse(program)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        (
            "uneven-microbatches",
            "torch.tensor(len(packs), device=self.device)",
            "torch.tensor(len(packs))",
            "of the CPU",
        ),
        ("skipped-batch", "model(readings.to(device))", "model(readings)", "tensors of both devices"),
    ],
)
def test_a_tensor_that_was_left_behind_is_seen(name: str, old: str, new: str, fault: str, tmp_path: Path) -> None:
    text = (root() / name / "fixed.py").read_text()
    assert old in text
    program = tmp_path / "train.py"
    program.write_text(text.replace(old, new))
    done = _rehearse(program)
    assert done.returncode != 0
    assert fault in done.stderr
