"""Does `watch` say the same without ptrace? `python -m benchmarks.without_ptrace` runs every fixture in three ways.

The broken program of each fixture that hangs runs under `ddpdoctor watch`,

- `read`: with py-spy;
- `absent`: in an environment that has no py-spy;
- `refused`: with an interpreter that has a capability more than ddpdoctor (cap_net_admin, by its file), so that
  the kernel refuses it everything that needs PTRACE_MODE_READ or PTRACE_MODE_ATTACH: memory, environment, open files,
  system calls, wait channels. That is the most that a kernel refuses: Yama refuses only what needs PTRACE_MODE_ATTACH.
  It takes root and setcap.

`--healthy` runs the unusual but healthy programs of tests/e2e/healthy instead, with little patience and `--on-hang
stop`. Results are kept in build/without-ptrace*.jsonl, so that a run goes on where it was broken off, and make
docs/without-ptrace.md. Exit status 1 if anything differs, or a healthy job was called more than slow.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import healthy
from benchmarks.healthy import Said
from benchmarks.measured import ROOT, commit
from ddpdoctor.model.codec import decode
from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.report import Report
from ddpdoctor.repro import catalogue, runner
from ddpdoctor.repro.case import Case

PAGE = ROOT / "docs" / "without-ptrace.md"
RESULTS = ROOT / "build" / "without-ptrace.jsonl"
HEALTHY = ROOT / "build" / "without-ptrace-healthy.jsonl"
FOLDERS = ROOT / "build" / "without-ptrace"
#: seconds after the last progress within which a proof is to be told
PROMPT = 8.0
#: seconds that importing torch may take, beside the fixture's own
STARTUP = 60.0
READ, ABSENT, REFUSED = "read", "absent", "refused"
CAPABILITY = "net_admin"


@dataclass(frozen=True, slots=True)
class Told:
    """What `watch` said of one fixture in one way."""

    name: str
    way: str
    commit: str
    outcome: str
    code: str
    confidence: str
    culprits: tuple[int, ...]
    deadlock: str
    #: whether stacks of the probe were used
    own_stacks: bool
    #: from the last progress to the report
    seconds: float
    right_code: str
    right_culprits: tuple[int, ...]
    right_deadlock: str
    #: the fault may also end in a way that is proven
    sometimes_proven: bool


def main() -> int:
    args = _arguments()
    if args.healthy:
        return _run_healthy(args)
    results = _read()
    cases = [case for case in catalogue.load_all(catalogue.root()) if _is_asked(case) and args.only in case.name]
    FOLDERS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ddp-") as made:
        commands = {way: _WAYS[way](Path(made)) for way in args.ways.split(",")}
        for case in cases:
            for way, command in commands.items():
                if (case.name, way) not in results or args.again:
                    told = _run(case, way, command, _emptied(FOLDERS / f"{case.name}.{way}"))
                    results[case.name, way] = told
                    print(_row(told), flush=True)
                    RESULTS.write_text("".join(json.dumps(asdict(one)) + "\n" for one in results.values()))
    if not args.only:
        PAGE.write_text(page(results, _read_healthy()), encoding="utf-8")
    print(summary(results))
    return 1 if any(misses(results)) else 0


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _is_asked(case: Case) -> bool:
    return case.harm is None and case.outcome is Outcome.HANG and not runner.missing(case)


@dataclass(frozen=True, slots=True)
class _Way:
    """How `watch` is started, and the interpreter that the job gets."""

    watch: tuple[str, ...]
    job: str
    environ: Mapping[str, str]


def _as_usual(made: Path) -> _Way:
    del made
    return _Way((sys.executable,), sys.executable, {})


def _absent(made: Path) -> _Way:
    """An environment with the same packages and without their programs."""
    python = str(_environment(made / ABSENT) / "python")
    Path(python).symlink_to(sys.executable)
    folders = [one for one in os.environ["PATH"].split(os.pathsep) if not (Path(one) / "py-spy").exists()]
    return _Way((python,), python, {"PATH": os.pathsep.join(folders)})


def _refused(made: Path) -> _Way:
    """root without capabilities, and an interpreter for the job that is given one by its file."""
    python = str(_environment(made / REFUSED) / "python")
    shutil.copy(os.path.realpath(sys.executable), python)
    subprocess.run(["setcap", f"cap_{CAPABILITY}=ep", python], check=True)
    bare = ("--securebits=+noroot,+noroot_locked", f"--bounding-set=-all,+{CAPABILITY}", "--inh-caps=-all")
    return _Way(("setpriv", *bare, sys.executable), python, {})


_WAYS = {READ: _as_usual, ABSENT: _absent, REFUSED: _refused}


def _environment(folder: Path) -> Path:
    """A folder for an interpreter that uses this one's packages; returns where it belongs."""
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").symlink_to(Path(sys.prefix) / "lib")
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", folder)
    return folder / "bin"


def run(case: Case, way: str, folder: Path) -> Told:
    """Run the broken program of a fixture in one way; `folder` takes what it writes."""
    return _run(case, way, _WAYS[way](folder / "environment"), folder)


def _run(case: Case, way: str, how: _Way, folder: Path) -> Told:
    patience = () if case.stall_after is None else ("--stall-after", str(case.stall_after))
    watch = (*how.watch, "-m", "ddpdoctor", "watch", "--on-hang", "stop", *patience)
    where = ("--json", str(folder / "report.json"), "--bundle", str(folder / "bundle"))
    job = _with(how.job, runner.launch_command(case.launcher, case.broken, case.ranks))
    with runner.started([*watch, *where, "--", *job], folder / runner.OUTPUT, how.environ) as process:
        report = _awaited(process, folder, time.monotonic() + case.seconds + STARTUP)
    return _told(case, way, report)


def _with(python: str, command: Sequence[str]) -> list[str]:
    """The command, run by this interpreter."""
    return [python, *(command[1:] if command[0] == sys.executable else command)]


def _awaited(process: subprocess.Popen[bytes], folder: Path, deadline: float) -> Report | None:
    """The first report, or what there is when the job ends, or takes too long."""
    while process.poll() is None and time.monotonic() < deadline:
        report = runner.report_in(folder)
        if report is not None and report.outcome not in (Outcome.SLOW, Outcome.DESYNC):
            return report
        time.sleep(0.3)
    return runner.report_in(folder)


def _told(case: Case, way: str, report: Report | None) -> Told:
    first = next(iter(report.diagnoses), None) if report else None
    times = report.timeline if report else None
    moved, told = (times.last_progress, times.reported) if times else (None, None)
    return Told(
        name=case.name,
        way=way,
        commit=commit(),
        outcome=report.outcome.value if report else "",
        code=first.code if first else "",
        confidence=first.confidence.value if first else "",
        culprits=tuple(first.culprits) if first else (),
        deadlock=report.deadlock.value if report else "",
        own_stacks=report is not None and any("took inside" in note for note in report.notes),
        seconds=round(told - moved, 1) if told is not None and moved is not None else 0.0,
        right_code=case.code,
        right_culprits=tuple(case.culprits),
        right_deadlock=case.deadlock.value,
        sometimes_proven=case.sometimes_proven,
    )


@dataclass(frozen=True, slots=True)
class Healthy:
    """What `watch` said of one healthy program in one way."""

    kind: str
    way: str
    commit: str
    #: what was false, "" if nothing
    alarm: str
    slow: bool
    seconds: float


def _run_healthy(args: argparse.Namespace) -> int:
    results = _read_healthy()
    kinds = sorted(path.stem for path in healthy.PROGRAMS.glob("[a-z]*.py") if args.only in path.stem)
    FOLDERS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ddp-") as made:
        commands = {way: _WAYS[way](Path(made)) for way in args.ways.split(",")}
        for way, command in commands.items():
            for kind in kinds:
                if (kind, way) not in results or args.again:
                    done = results[kind, way] = _healthy(kind, way, command)
                    print(f"{kind:34} {way:8} {done.seconds:5.0f} s  {done.alarm or ('slow' if done.slow else 'ok')}")
                    HEALTHY.write_text("".join(json.dumps(asdict(one)) + "\n" for one in results.values()))
    return 1 if any(done.alarm for done in results.values()) else 0


def _healthy(kind: str, way: str, how: _Way) -> Healthy:
    """Run one program to its end."""
    folder = _emptied(FOLDERS / f"{kind}.{way}")
    patience = healthy.SHORT_PATIENCE if kind in healthy.WORKING else healthy.PATIENCE
    options = ("--stall-after", patience, "--on-hang", "stop")
    where = ("--json", str(folder / "report.json"), "--bundle", str(folder / "bundle"))
    job = _with(how.job, healthy.command(kind, 3))
    said: list[Said] = []
    began = time.monotonic()
    watch = (*how.watch, "-m", "ddpdoctor", "watch", *options, *where, "--", *job)
    with runner.started(list(watch), folder / runner.OUTPUT, how.environ) as process:
        while process.poll() is None and time.monotonic() - began < healthy.LONGEST + STARTUP:
            time.sleep(0.3)
            said += _new(folder, said)
        status = process.poll()
    said += _new(folder, said)
    run = healthy.HealthyRun(kind, 0, 3, options, tuple(said), status, time.monotonic() - began)
    return Healthy(kind, way, commit(), run.alarm, run.slow, round(run.seconds, 1))


def _new(folder: Path, before: Sequence[Said]) -> Iterator[Said]:
    """The gist of the report, if it is another than the last."""
    with contextlib.suppress(OSError, ValueError):
        found = Said.of(json.loads((folder / "report.json").read_text(encoding="utf-8")))
        if not before or before[-1] != found:
            yield found


def difference(told: Told, read: Told | None) -> str:
    """What is not as it is with py-spy, "" if nothing; without such a run, what is not as the fixture says."""
    code, culprits = (read.code, read.culprits) if read else (told.right_code, told.right_culprits)
    deadlock = read.deadlock if read else told.right_deadlock
    if told.code != code:
        return f"{told.code or 'nothing'} for {code}"
    if told.culprits != culprits:
        return f"culprits {list(told.culprits)} for {list(culprits)}"
    proven = Deadlock.PROVEN.value
    if (told.deadlock == proven) is not (deadlock == proven) and not told.sometimes_proven:
        return f"deadlock {told.deadlock} for {deadlock}"
    return f"after {told.seconds:g} s" if told.deadlock == proven and told.seconds > PROMPT else ""


def misses(results: Mapping[tuple[str, str], Told]) -> Iterator[str]:
    for (name, way), told in results.items():
        wrong = difference(told, results.get((name, READ)) if way != READ else None)
        if wrong:
            yield f"{name} ({way}): {wrong}"


def page(results: Mapping[tuple[str, str], Told], unharmed: Mapping[tuple[str, str], Healthy]) -> str:
    """docs/without-ptrace.md."""
    rows = []
    for name, way in sorted(results, key=lambda key: (results[key].right_code, key)):
        if way == READ:
            row = [_said(results[name, way])]
            for other in (ABSENT, REFUSED):
                told = results.get((name, other))
                row.append("not run" if told is None else difference(told, results[name, way]) or _short(told))
            rows.append(f"| {name} | {' | '.join(row)} |")
    table = "\n".join(rows)
    return f"""# What `watch` says without ptrace

Made by `python -m benchmarks.without_ptrace`, which runs the broken program of every fixture that hangs in three ways:
with py-spy; in an environment without py-spy; and with an interpreter that has a capability more than ddpdoctor, so
that the kernel refuses all that ptrace would permit (memory, environment, open files, system calls, wait channels).
Yama's modes 2 and 3, SELinux's deny_ptrace and containers refuse less than the third. *same* means the same code, the
same culprits, and proven if it was proven; the seconds are those from the last progress to the report.
[How it works](containers.md#without-ptrace).

{summary(results)}

{_healthy_summary(unharmed)}

| fixture | with py-spy | no py-spy | refused by the kernel |
|---|---|---|---|
{table}
"""


def summary(results: Mapping[tuple[str, str], Told]) -> str:
    said = []
    for way in (ABSENT, REFUSED):
        ran = [told for told in results.values() if told.way == way]
        same = [told for told in ran if not difference(told, results.get((told.name, READ)))]
        proofs = [told.seconds for told in ran if told.deadlock == Deadlock.PROVEN.value]
        late = f", proofs after {min(proofs):g} to {max(proofs):g} s" if proofs else ""
        said.append(f"py-spy {way}: the same in {len(same)} of {len(ran)}, proven {len(proofs)}{late}")
    return "; ".join(said) + "."


def _healthy_summary(results: Mapping[tuple[str, str], Healthy]) -> str:
    alarms = [f"{done.kind} ({done.way}: {done.alarm})" for done in results.values() if done.alarm]
    ways = ", ".join(sorted({way for _, way in results}))
    return (
        f"Unusual but healthy programs (tests/e2e/healthy, `--stall-after 8 --on-hang stop`; ways: {ways}): "
        f"{len(results)} runs, {sum(done.slow for done in results.values())} called slow, as one rank was; false "
        f"alarms: {', '.join(alarms) or 'none'}. What is only `possible` stops no job."
    )


def _said(told: Told) -> str:
    who = ", ".join(map(str, told.culprits)) or "nobody"
    return f"{told.code} {told.confidence}, {who}, {told.deadlock}, {told.seconds:g} s"


def _short(told: Told) -> str:
    return f"same, {told.seconds:g} s"


def _row(told: Told) -> str:
    wrong = difference(told, None)
    own = "own stacks" if told.own_stacks else ""
    return f"{told.name:38} {told.way:8} {_said(told):50} {own:11} {wrong and 'NOT AS THE FIXTURE SAYS: ' + wrong}"


def _read() -> dict[tuple[str, str], Told]:
    found: dict[tuple[str, str], Told] = {}
    with contextlib.suppress(OSError):
        for line in RESULTS.read_text().splitlines():
            told = decode(Told, json.loads(line))
            found[told.name, told.way] = told
    return found


def _read_healthy() -> dict[tuple[str, str], Healthy]:
    found: dict[tuple[str, str], Healthy] = {}
    with contextlib.suppress(OSError):
        for line in HEALTHY.read_text().splitlines():
            done = decode(Healthy, json.loads(line))
            found[done.kind, done.way] = done
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="fixtures whose name contains this; the page is not written")
    parser.add_argument("--ways", default=",".join(_WAYS), help=f"default: {','.join(_WAYS)}")
    parser.add_argument("--healthy", action="store_true", help="healthy programs, in place of fixtures")
    parser.add_argument("--again", action="store_true", help="run what has been run before")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
