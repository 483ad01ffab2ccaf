"""Writes what the job of a bundle would have left without `watch`: dumps, stacks and a log, in a folder."""

from __future__ import annotations

import io
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ddpdoctor.archive import input_files, pipeline
from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture, PartKind
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.registry import RULES
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.ranks import RankSet, Role, Worker
from ddpdoctor.model.report import Report


def loose(capture: Capture, folder: Path) -> None:
    """All raw parts as `watch` took them, without the manifest that says whose they are."""
    for number, sample in enumerate(capture.samples):
        for part in sample.parts:
            target = folder / str(number) / f"{part.pid}.{part.kind.value}"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(part.data)


def foreign(capture: Capture, folder: Path, *, text: bool) -> None:
    """What other tools would have written: a recorder dump and py-spy's stacks of each rank, and torchrun's log."""
    sample = capture.samples[-1]
    workers = {worker.pid: worker for worker in sample.workers}
    ranks = {seen.worker.pid: seen for seen in assemble(capture).ranks}
    folder.mkdir(parents=True, exist_ok=True)
    for part in sample.parts:
        worker, seen = workers[part.pid], ranks.get(part.pid)
        owner = seen or ranks.get(worker.parent or -1)
        if part.kind is PartKind.RECORDER and seen:
            (folder / f"nccl_trace_rank_{seen.rank}").write_bytes(part.data)
        elif part.kind is PartKind.STACKS and owner:
            name = f"stacks_rank_{owner.rank}" + ("" if worker.role is Role.RANK else f".child{part.pid}")
            if text:
                (folder / f"{name}.txt").write_text(as_text(part.data, worker))
            else:
                (folder / f"{name}.json").write_bytes(part.data)
    log = "".join(traceback_of(seen) for seen in ranks.values()) + summary(capture, list(ranks.values()))
    if log:
        (folder / "job.log").write_text(log)


def as_text(data: bytes, worker: Worker) -> str:
    """py-spy's text from its JSON."""
    threads: list[dict[str, Any]] = json.loads(data)
    lines = [f"Process {worker.pid}: {' '.join(worker.command)}", "Python v3.11.2 (/usr/bin/python3.11)", ""]
    for thread in threads:
        state = ("active" if thread["active"] else "idle") + ("+gil" if thread["owns_gil"] else "")
        name = f': "{thread["thread_name"]}"' if thread.get("thread_name") else ""
        lines.append(f"Thread {thread['os_thread_id']} ({state}){name}")
        for frame in thread["frames"]:
            lines.append(f"    {frame['name']} ({frame.get('short_filename') or frame['filename']}:{frame['line']})")
    return "\n".join(lines) + "\n"


def traceback_of(seen: RankEvidence) -> str:
    """What the interpreter prints of the exception that ended a rank, as torch prefixes it."""
    ending = seen.page.ending if seen.page else None
    text = ending.raised.traceback if ending and ending.raised else ""
    return "".join(f"[rank{seen.rank}]: {line}\n" for line in text.splitlines())


def summary(capture: Capture, ranks: list[RankEvidence]) -> str:
    """torchrun's summary of those that failed, the first one last."""
    failed = sorted((r for r in ranks if r.exit and r.exit.status), key=lambda r: r.exit.time if r.exit else 0.0)
    if not failed:
        return ""
    blocks = []
    for number, seen in enumerate([*failed[1:], failed[0]]):
        assert seen.exit is not None
        when = datetime.fromtimestamp(1.7e9 + seen.exit.time - capture.timing.started, timezone.utc)
        status = seen.exit.status or 0
        signal = f"Signal {-status} (SIG) received by PID {seen.exit.pid}" if status < 0 else "<N/A>"
        blocks.append(
            f"[{number}]:\n  time      : {when:%Y-%m-%d_%H:%M:%S}\n  host      : node1\n"
            f"  rank      : {seen.rank} (local_rank: {seen.rank})\n"
            f"  exitcode  : {seen.exit.status} (pid: {seen.exit.pid})\n  error_file: <N/A>\n  traceback : {signal}\n"
        )
    thick, thin = "=" * 60 + "\n", "-" * 60 + "\n"
    head = f"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n{thick}train.py FAILED\n{thin}"
    others = "".join(blocks[:-1]) or "  <NO_OTHER_FAILURES>\n"
    return f"{head}Failures:\n{others}{thin}Root Cause (first observed failure):\n{blocks[-1]}{thick}"


def faults(capture: Capture, folder: Path) -> list[str]:
    """Where the verdict on the leftovers differs from the live one, or claims more than it can know.

    All raw parts must give the very verdict. What other tools take may be less sure, or leave it undecided and say what
    is missing; it may not name another rank than the live look, nor a cause that is not a neighbour of the true one.
    """
    live = examine(assemble(capture))
    loose(capture, folder / "loose")
    foreign(capture, folder / "json", text=False)
    foreign(capture, folder / "text", text=True)
    own, *others = (_read(folder / name) for name in ("loose", "json", "text"))
    found = [] if _named(own) == _named(live) else [f"loose parts: {_told(own)} where live is {_told(live)}"]
    found += [f"loose parts: certain of {d.code}" for d in own.diagnoses if Confidence.CERTAIN in _surety(d)]
    return [*found, *(fault for report in others for fault in _overclaims(report, live))]


def _read(folder: Path) -> Report:
    return pipeline.diagnose(input_files.find([str(folder)], io.BytesIO()))


def _named(report: Report) -> object:
    return report.outcome, [(d.code, d.culprits) for d in report.diagnoses[:1]]


def _told(report: Report) -> object:
    return report.outcome, [(d.code, d.culprits, d.confidence, d.culprit_confidence) for d in report.diagnoses[:1]]


def _overclaims(report: Report, live: Report) -> list[str]:
    if not report.diagnoses or not live.diagnoses:
        return [f"{_told(report)} where live is {_told(live)}"] if report.outcome != live.outcome else []
    first, true = report.diagnoses[0], live.diagnoses[0]
    excludes = {registered.rule.code: registered.rule.excludes for registered in RULES}
    neighbours = {true.code, "DD299", *excludes[true.code], *(c for c, those in excludes.items() if true.code in those)}
    found = [f"certain: {d.code} {d.culprits}" for d in report.diagnoses if Confidence.CERTAIN in _surety(d)]
    if first.confidence is Confidence.LIKELY and first.code not in neighbours:
        found.append(f"{first.code} likely where live is {true.code}")
    if first.culprit_confidence is Confidence.LIKELY and first.culprits != true.culprits != RankSet():
        found.append(f"{first.code} blames {first.culprits} where live blames {true.culprits}")
    if first.code != true.code and not report.gaps:
        found.append(f"{first.code} where live is {true.code}, and nothing is said to be missing")
    return found


def _surety(diagnosis: Diagnosis) -> tuple[Confidence, Confidence]:
    return diagnosis.confidence, diagnosis.culprit_confidence
