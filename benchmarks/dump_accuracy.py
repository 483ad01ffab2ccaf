"""How good is `ddpdoctor dump` on jobs that nobody wrapped? `python -m benchmarks.dump_accuracy` asks every fixture.

The broken program of each fixture that hangs or is slow runs by itself, without `watch`. When its ranks have been idle
for a while, `ddpdoctor dump --wait 5s` looks at it from outside. Results are kept in build/dump-accuracy.jsonl, and the
evidence beside them; `--replay` judges that evidence again without running anything, and both write the
table of docs/dump-accuracy.md. Exit status 1 if a verdict is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import psutil

from benchmarks.measured import ROOT, commit
from ddpdoctor.archive import input_files, pipeline
from ddpdoctor.model.codec import decode
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.report import Report
from ddpdoctor.observe.first_answer import first_answer
from ddpdoctor.report import json as report_json
from ddpdoctor.repro import catalogue, runner
from ddpdoctor.repro.case import Case

PAGE = ROOT / "docs" / "dump-accuracy.md"
RESULTS = ROOT / "build" / "dump-accuracy.jsonl"
EVIDENCE = ROOT / "build" / "dump-accuracy"
#: seconds for which all processes of a job must be idle before it is looked at, and the longest wait for that
IDLE, LATEST = 4.0, 75.0
#: seconds of the look
LOOK = 5.0
#: cores that an idle job may use: what waits polls now and then
_BUSY = 0.08


@dataclass(frozen=True, slots=True)
class Looked:
    """What `dump` said of one fixture, and what is right."""

    name: str
    commit: str
    outcome: str
    code: str
    confidence: str
    blame: str
    culprits: tuple[int, ...]
    deadlock: str
    right_code: str
    right_culprits: tuple[int, ...]
    right_outcome: str
    provable: bool
    seconds: float = 0.0

    @property
    def named(self) -> bool:
        """The culprits are right; where nobody is to blame, nobody is blamed."""
        return self.culprits == self.right_culprits

    @property
    def wrong(self) -> str:
        """What is said with some confidence and is not so; "" if nothing is."""
        if self.outcome == Outcome.CRASH.value or (self.outcome == "hang") is not (self.right_outcome == "hang"):
            return f"outcome {self.outcome}"
        if self.deadlock == Deadlock.PROVEN.value and not self.provable:
            return "deadlock proven"
        sure = (Confidence.CERTAIN.value, Confidence.LIKELY.value)
        if self.culprits and not self.named and self.blame in sure:
            return f"culprits {list(self.culprits)}"
        return f"code {self.code}" if self.code != self.right_code and self.confidence in sure else ""


def main() -> int:
    args = _arguments()
    cases = [case for case in catalogue.load_all(catalogue.root()) if _is_asked(case) and args.only in case.name]
    results = _read()
    found: list[Looked] = []
    for one in _replays(cases) if args.replay else _looks(cases, args.jobs):
        found.append(one)
        results[one.name] = one
        RESULTS.write_text("".join(json.dumps(asdict(one)) + "\n" for one in results.values()), encoding="utf-8")
        print(_row(one), flush=True)
    if not args.only:
        PAGE.write_text(page(tuple(results.values())), encoding="utf-8")
    print(_summary(tuple(found)))
    return 1 if any(one.wrong for one in found) else 0


def _replays(cases: Sequence[Case]) -> Iterator[Looked]:
    """The kept evidence, judged again."""
    yield from (_replayed(case) for case in cases if (EVIDENCE / case.name / "manifest.json").exists())


def _looks(cases: Sequence[Case], jobs: int) -> Iterator[Looked]:
    """The programs, run again, in order."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from (one[0] for one in pool.map(look, cases) if one is not None)


def _is_asked(case: Case) -> bool:
    return case.harm is None and case.outcome in (Outcome.HANG, Outcome.SLOW) and not runner.missing(case)


def look(case: Case) -> tuple[Looked, Report] | None:
    """Run one program by itself, wait until it stands, and look at it; None if `dump` failed."""
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    folder = EVIDENCE / case.name
    command = runner.launch_command(case.launcher, case.broken, case.ranks)
    with runner.started(command, EVIDENCE / f"{case.name}.log", {}) as job:
        _until_idle(job.pid)
        began = time.monotonic()
        told = subprocess.run(
            [
                *(sys.executable, "-m", "ddpdoctor", "dump", str(job.pid)),
                *("--wait", f"{LOOK:g}", "--json", "--bundle", str(folder)),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
    if told.returncode not in (0, 1):
        print(f"{case.name}: {told.stderr.strip()[-500:]}", file=sys.stderr)
        return None
    report = report_json.read(told.stdout)
    return _result(case, report, seconds), report


def _until_idle(pid: int) -> None:
    """Wait until the processes of a job, at least one rank among them, have used no processor for a while."""
    began = since = time.monotonic()
    used = -1.0
    while time.monotonic() - began < LATEST and time.monotonic() - since < IDLE:
        time.sleep(1.0)
        family = list(_family(pid))
        now = sum(_cpu(process) for process in family)
        if len(family) < 2 or now - used > _BUSY:
            since = time.monotonic()
        used = now


def _family(pid: int) -> Iterator[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        yield from (root, *root.children(recursive=True))


def _cpu(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _replayed(case: Case) -> Looked:
    found = input_files.find([str(EVIDENCE / case.name)], sys.stdin.buffer)
    return _result(case, first_answer(pipeline.diagnose(found, pipeline.read_dumps(found)), LOOK), 0.0)


def _result(case: Case, report: Report, seconds: float) -> Looked:
    first = next(iter(report.diagnoses), None)
    return Looked(
        name=case.name,
        commit=commit(),
        outcome=report.outcome.value,
        code=first.code if first else "",
        confidence=first.confidence.value if first else "",
        blame=first.culprit_confidence.value if first else "",
        culprits=tuple(first.culprits) if first else (),
        deadlock=report.deadlock.value,
        right_code=case.code,
        right_culprits=tuple(case.culprits),
        right_outcome=case.outcome.value,
        provable=case.deadlock is Deadlock.PROVEN or case.sometimes_proven,
        seconds=round(seconds, 1),
    )


def _read() -> dict[str, Looked]:
    try:
        lines = RESULTS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {one.name: one for one in (decode(Looked, json.loads(line)) for line in lines)}


def page(results: Sequence[Looked]) -> str:
    """docs/dump-accuracy.md."""
    hanging = sorted(
        (one for one in results if one.right_outcome == "hang"), key=lambda one: (one.right_code, one.name)
    )
    rows = "\n".join(
        f"| {one.name} | {one.right_code} | {one.code} {one.confidence} | {_ranks(one.right_culprits)} | "
        f"{_ranks(one.culprits)} | {one.deadlock} | {one.wrong or '-'} |"
        for one in hanging
    )
    slow = ", ".join(f"{one.name}: {one.outcome}" for one in results if one.right_outcome == "slow")
    return f"""# How often `dump` is right

Made by `python -m benchmarks.dump_accuracy`, which runs the broken program of every fixture that hangs without `watch`
and lets `ddpdoctor dump --wait 5s` look at it. *Wrong* is what is said with at least `likely` and is not so.

{_summary(hanging)}

| fixture | right | said | to blame | blamed | deadlock | wrong |
|---|---|---|---|---|---|---|
{rows}

Jobs that only wait for a slow rank: {slow or "none measured"}.
"""


def _summary(results: Sequence[Looked]) -> str:
    hanging = [one for one in results if one.right_outcome == "hang"]
    count = len(hanging) or 1
    named, coded = sum(one.named for one in hanging), sum(one.code == one.right_code for one in hanging)
    return (
        f"{len(hanging)} programs that hang: culprit right in {named} ({100 * named / count:.0f} %), code right in "
        f"{coded} ({100 * coded / count:.0f} %), wrong in {sum(bool(one.wrong) for one in hanging)}, proven "
        f"{sum(one.deadlock == 'proven' for one in hanging)}."
    )


def _row(one: Looked) -> str:
    mark = "WRONG " + one.wrong if one.wrong else "right" if one.named and one.code == one.right_code else ""
    who = f"{list(one.culprits)} for {list(one.right_culprits)}"
    return f"{one.name:38} {one.right_code} {one.code or '-':6} {one.confidence:9} {who:20} {one.deadlock:10} {mark}"


def _ranks(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks)) or "nobody"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="fixtures whose name contains this; the page is not written")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="fixtures at once")
    parser.add_argument("--replay", action="store_true", help="judge the kept evidence again")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
