"""What is sent and written: short, redacted, and no markup of a job in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ddpdoctor.notify import message, places
from tests.golden.reports import REPORTS

HANG = REPORTS["hang-certain"]
SECRET = "hf_abcdefghijklmnopqrstuvwxyz"


def test_an_incident_says_what_a_person_needs() -> None:
    payload = message.incident(HANG, evidence="/runs/7")
    assert payload["text"].splitlines() == [
        "ddpdoctor: HANG - rank 0 is in barrier at train.py:72 where ranks 1-7 are in all_reduce (#1042, the default "
        "group) [DD203 certain]",
        "why: Every rank of a group must enter the same collectives in the same order. Only rank 0 reaches this one.",
        "fix: Move dist.barrier() out of `if rank == 0:` so that all ranks call it.",
        "at /home/ada/vision/train.py:72",
        "command: torchrun --nproc-per-node 8 train.py",
        "evidence: /runs/7",
    ]
    assert payload["ddpdoctor"]["code"] == "DD203"
    assert payload["ddpdoctor"]["culprits"] == "0"
    assert json.loads(json.dumps(payload)) == payload


def test_nothing_secret_is_sent_and_nobody_is_called() -> None:
    first = replace(HANG.diagnoses[0], summary=f"<!channel> & token={SECRET}\x1b[31m", why=SECRET)
    report = replace(HANG, diagnoses=(first,), command=("train", "--api-key", "hush", f"--x={SECRET}"))
    for payload in (message.incident(report), message.recovery(report, "it goes on")):
        assert "<!channel>" not in payload["text"]
        assert "&lt;!channel&gt; &amp;" in payload["text"]
        assert not any(word in json.dumps(payload) for word in (SECRET, "hush", "\\u001b"))


def test_a_long_text_is_cut() -> None:
    first = replace(HANG.diagnoses[0], summary="x" * 100_000, why="y" * 100_000)
    assert len(message.incident(replace(HANG, diagnoses=(first,)))["text"]) < 4000


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_has_a_message(name: str) -> None:
    assert message.incident(REPORTS[name])["text"].startswith(f"ddpdoctor: {REPORTS[name].outcome.value.upper()} - ")
    assert "resolved" in message.recovery(REPORTS[name], "the job made progress again")["text"]


def test_kubernetes_gets_at_most_four_kilobytes(tmp_path: Path) -> None:
    path = tmp_path / "termination-log"
    kubernetes = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert not places.write_termination_log(HANG, kubernetes, path)
    path.write_text("")
    assert not places.write_termination_log(HANG, {}, path)
    first = replace(HANG.diagnoses[0], summary="é" * 9000)
    assert places.write_termination_log(replace(HANG, diagnoses=(first,)), kubernetes, path)
    assert 0 < len(path.read_bytes()) <= 4096
    assert path.read_text().startswith("ddpdoctor: HANG - é")


def test_github_gets_a_summary_that_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    environ = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(path)}
    assert not places.append_job_summary(HANG, {"GITHUB_STEP_SUMMARY": str(path)})
    assert not places.append_job_summary(HANG, {"GITHUB_ACTIONS": "true"})
    assert places.append_job_summary(HANG, environ)
    assert path.read_text().startswith("before\n### ddpdoctor: HANG\n")
    path.write_bytes(b" " * (1 << 20))
    assert not places.append_job_summary(HANG, environ)
