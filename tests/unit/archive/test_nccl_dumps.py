"""What is left of jobs on NCCL that nobody watched: recorder dumps and stacks, taken from the bundles of real runs."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from ddpdoctor.archive import input_files, pipeline
from ddpdoctor.errors import InputError
from ddpdoctor.model.diagnosis import Confidence
from tests.unit.diagnose.test_nccl_runs import CASES, NAMES

HANGS = [name for name in NAMES if CASES[name].outcome.value == "hang" and name != "join-misuse"]


@pytest.mark.parametrize("stacks", [False, True])
@pytest.mark.parametrize("name", HANGS)
def test_what_is_left_of_a_job_that_nobody_watched(nccl_runs: Path, tmp_path: Path, name: str, *, stacks: bool) -> None:
    """Recorder dumps, and the stacks that py-spy takes: less is said, nothing else, and it is no healthy job."""
    ranks = left_behind(nccl_runs / name, tmp_path, stacks=stacks)
    recorded = any(json.loads(path.read_bytes()).get("entries") for path in tmp_path.glob("nccl_trace_rank_*"))
    if not (recorded or stacks):
        with pytest.raises(InputError, match="the dump is empty"):
            pipeline.diagnose(input_files.find([str(tmp_path)], io.BytesIO()))
        return
    report = pipeline.diagnose(input_files.find([str(tmp_path)], io.BytesIO()))
    waits = recorded and name not in ("group-creation-mismatch", "teardown-hang")  # there all operations are finished
    assert report.outcome.value == "hang" if waits or stacks else report.outcome.value == "healthy"
    sure = [one for one in report.diagnoses if one.confidence is not Confidence.POSSIBLE]
    assert all(one.code == CASES[name].code and one.culprits == CASES[name].culprits_at(ranks) for one in sure)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in HANGS])
def test_nothing_is_certain_of_jobs_that_ended_or_are_slow(nccl_runs: Path, tmp_path: Path, name: str) -> None:
    left_behind(nccl_runs / name, tmp_path, stacks=True)
    report = pipeline.diagnose(input_files.find([str(tmp_path)], io.BytesIO()))
    assert {one.confidence for one in report.diagnoses} <= {Confidence.POSSIBLE, Confidence.LIKELY}


def left_behind(bundle: Path, folder: Path, *, stacks: bool) -> int:
    """Copy the last sample under the names of files of a job; the number of its ranks."""
    samples = json.loads((bundle / "manifest.json").read_bytes())["samples"]
    ranks = {one["pid"]: one["rank"] for one in samples[-1]["workers"] if one["role"] == "rank"}
    for pid, rank in ranks.items():
        names = {"recorder": f"nccl_trace_rank_{rank}", **({"stacks": f"stacks_rank{rank}.json"} if stacks else {})}
        for kind, name in names.items():
            part = bundle / "samples" / str(len(samples) - 1) / f"{pid}.{kind}.json"
            if part.exists():
                shutil.copy(part, folder / name)
    return len(ranks)
