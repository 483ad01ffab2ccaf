"""Impure. `ddpdoctor repro`: runs jobs that hang or do harm for a known reason, and checks that the reason is found."""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ddpdoctor.cli import forms, options, repro_backend
from ddpdoctor.errors import ExitCode, UsageError
from ddpdoctor.model import codec
from ddpdoctor.model.diagnosis import Outcome

if TYPE_CHECKING:
    from ddpdoctor.model.report import Report
    from ddpdoctor.repro.case import Case
    from ddpdoctor.repro.nccl import Nccl
    from ddpdoctor.repro.runner import RunResult

#: seconds between two progress messages
_PROGRESS_EVERY = 3.0

_EPILOG = """examples:
  ddpdoctor repro run uneven-inputs --ranks 4
  ddpdoctor repro all --jobs 2

exit status:
  0  diagnosed as expected
  1  not
  2  invalid arguments"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    actions = parser.add_subparsers(dest="action", metavar="list|show|run|all", required=True)
    listing = actions.add_parser("list", help="list the cases")
    show = actions.add_parser("show", help="print the program of a case")
    running = actions.add_parser("run", help="run a case and compare the diagnosis with the expected one")
    every = actions.add_parser("all", help="run every case, broken and fixed")
    for action in (show, running):
        # not required: `--json` without a file may stand before it
        action.add_argument("name", metavar="NAME", nargs="?", help="a case, as `ddpdoctor repro list` names it")
    for action in (show, running):
        action.add_argument("--fixed", action="store_true", help="the fixed program instead of the broken one")
    running.add_argument("--ranks", type=_positive, metavar="N", help="number of processes (default: the case's own)")
    for action in (running, every):
        action.add_argument(
            "--backend",
            choices=("gloo", "nccl"),
            help="nccl: on this machine's GPUs, shared between ranks if there are fewer (default: gloo, on the CPU)",
        )
    every.add_argument("--jobs", type=_positive, default=1, metavar="N", help="number of cases at a time (default: 1)")
    for action, what in ((listing, "the cases"), (show, "the case"), (running, "the result"), (every, "the results")):
        forms.add_json(action, what, bare=True)


def run(args: argparse.Namespace) -> ExitCode:
    """Do one of the four actions. Raises UsageError for an unknown case, InputError for a damaged one."""
    _settle_name(args)
    if args.action == "list":
        return _list(args)
    if args.action == "show":
        shown = _case(args.name)
        _say(repro_backend.backends_of(shown))
        program = (shown.fixed if args.fixed else shown.broken).read_text(encoding="utf-8")
        forms.tell(args, {**_case_as_json(shown), "program": program}, program)
        return ExitCode.OK
    case = _case(args.name) if args.action == "run" else None
    _require_torch()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, _interrupt)
    if case is None:
        results = _run_all(args.jobs, stop, repro_backend.nccl_of_machine(args.backend))
    else:
        ranks, nccl = repro_backend.choose(case, args.backend, args.ranks)
        _require_packages(case)
        results = [_run_one(case, ranks, args.fixed, stop, nccl)]
    forms.tell(args, [_as_json(result) for result in results], "")
    return ExitCode.OK if all(result.passed or result.skipped for result in results) else ExitCode.FOUND


def _settle_name(args: argparse.Namespace) -> None:
    """In `run --json NAME` the name is the case, as ever. Raises UsageError if there is none."""
    if args.action not in ("show", "run") or args.name is not None:
        return
    if args.json in (None, forms.STDOUT):
        raise UsageError("no case named", hint="see `ddpdoctor repro list`")
    args.name, args.json = args.json, forms.STDOUT


def _list(args: argparse.Namespace) -> ExitCode:
    from ddpdoctor.repro import catalogue

    cases = catalogue.load_all(catalogue.root())
    widest = max((len(case.name) for case in cases), default=0)
    lines = [
        f"{case.code}  {case.name:<{widest}}  {case.ranks} ranks  {'+'.join(case.backends):<9}  "
        f"{case.expected_ending:<5}  {case.summary}{_needs(case)}\n"
        for case in cases
    ]
    forms.tell(args, [_case_as_json(case) for case in cases], "".join(lines))
    return ExitCode.OK


def _needs(case: Case) -> str:
    """What a case needs besides torch, as a remark behind its summary."""
    return f" (needs {' and '.join(case.needed)})" if case.needed else ""


def _case(name: str) -> Case:
    from ddpdoctor.repro import catalogue

    folder = catalogue.root()
    known = catalogue.names(folder)
    if name not in known:
        guess = options.closest(name, known)
        raise UsageError(
            f"no case is called {name!r}", hint=f"did you mean `{guess}`?" if guess else "see `ddpdoctor repro list`"
        )
    return catalogue.load(folder / name)


def _require_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise UsageError("the cases need torch, and it is not installed", hint="`pip install 'ddpdoctor[torch]'`")


def _require_packages(case: Case) -> None:
    from ddpdoctor.repro import runner

    if lacking := runner.missing_packages(case):
        raise UsageError(f"{case.name} {lacking}", hint="`pip install 'ddpdoctor[frameworks]'`")


def _interrupt(_number: int, _frame: object) -> None:
    """SIGTERM ends us as Ctrl-C does, so that the job is ended too."""
    raise KeyboardInterrupt


def _run_one(case: Case, ranks: int, fixed: bool, stop: threading.Event, nccl: Nccl | None) -> RunResult:
    from ddpdoctor.repro import runner

    program = runner.CaseProgram(case, ranks, fixed, nccl)
    folder = Path(tempfile.mkdtemp(prefix="ddpdoctor-repro-")) / case.name
    command = [*runner.launch_command(case.launcher, program.path, ranks), *runner.backend_arguments(case, nccl)]
    _say(f"{case.name}: {case.summary}")
    watched = "" if case.harm else "ddpdoctor watch --on-hang stop -- "
    _say(f"starting {ranks} ranks: {watched}{' '.join(_short(word) for word in command)}")
    live = _Live(folder)
    result = runner.run(program, folder, stop=stop, tick=live)
    if result.report is not None and not live.shown:
        live.show(result.report)
    _show_harm(result)
    _say(f"expected and found, {result.seconds:.0f} s in total; the job's output: {folder / runner.OUTPUT}")
    for line in _table(result):
        _say(line)
    _say(_conclusion(result))
    return result


def _show_harm(result: RunResult) -> None:
    """Show what the program printed, and the line that lint reports."""
    for line in result.shown:
        _say(f"the program says: {line}")
    if result.findings:
        from ddpdoctor.report.findings import full

        texts = {f.file: Path(f.file).read_text(encoding="utf-8") for f in result.findings}
        print(f"\n{full.render(result.findings, texts)}", file=sys.stderr, flush=True)


class _Live:
    """What a reader sees during a run: a message every few seconds, then the verdict."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._next = _PROGRESS_EVERY
        self.shown = False

    def __call__(self, seconds: float) -> None:
        from ddpdoctor.repro import runner

        if not self.shown and (report := runner.report_in(self._folder)) is not None:
            self.show(report)
        elif seconds >= self._next:
            self._next += _PROGRESS_EVERY
            _say(f"  {seconds:3.0f} s  {'the job is being stopped' if self.shown else 'the job runs'}")

    def show(self, report: Report) -> None:
        self.shown = True
        _draw(report, self._folder / "bundle")


def _draw(report: Report, bundle: Path) -> None:
    """Print the verdict as `watch` has written it into the log, between the job's own lines."""
    from ddpdoctor.report import terminal

    screen = options.screen(sys.stderr, os.environ)
    text = terminal.render(
        report,
        screen,
        job="stopping the job (--on-hang=stop)" if report.outcome is Outcome.HANG else "",
        bundle=str(bundle) if bundle.exists() else "",
        directory=str(Path.cwd()),
    )
    print(f"\n{text}", file=sys.stderr, flush=True)


def _run_all(jobs: int, stop: threading.Event, nccl: Nccl | None) -> list[RunResult]:
    """Every broken program and every fixed one, `jobs` at a time; one line each when it ends."""
    from ddpdoctor.repro import catalogue, runner

    def run(case: Case, fixed: bool) -> RunResult:
        folder = root / f"{case.name}-{'fixed' if fixed else 'broken'}"
        ranks, left_out = repro_backend.plan_for(case, nccl)
        program = runner.CaseProgram(case, ranks, fixed, nccl)
        if left_out:
            return runner.skipped(program, left_out)
        return runner.run(program, folder, stop=stop, tick=lambda _: None)

    cases = catalogue.load_all(catalogue.root())
    root = Path(tempfile.mkdtemp(prefix="ddpdoctor-repro-"))
    todo = [(case, fixed) for case in cases for fixed in (False, True)]
    _say(f"{len(todo)} runs, {jobs} at a time; their files are in {root}")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run, case, fixed) for case, fixed in todo]
        try:
            for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
                for line in _progress(done, len(todo), future.result()):
                    _say(line)
        except BaseException:
            # every running case notices it within a tick and ends its job
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    results = [future.result() for future in futures]
    if not _sum_up(results):
        shutil.rmtree(root, ignore_errors=True)
    return results


def _sum_up(results: list[RunResult]) -> int:
    """Print how many ended as expected; the number of those that did not."""
    failed = sum(not (result.passed or result.skipped) for result in results)
    skipped = sum(bool(result.skipped) for result in results)
    _say(f"{len(results) - failed - skipped} as expected, {failed} not, {skipped} skipped")
    return failed


def _progress(done: int, total: int, result: RunResult) -> Iterator[str]:
    word = "skip" if result.skipped else "ok" if result.passed else "FAIL"
    time = next((check.found for check in result.checks if check.what == "time"), "")
    detail = (
        result.skipped
        or ((f"reported {time} after the last progress, ") if time else "") + f"{result.seconds:.0f} s in total"
    )
    yield f"[{done:>{len(str(total))}}/{total}] {word:<4} {result.code} {result.name} {result.program}  {detail}"
    for check in result.checks:
        if not check.passed:
            yield f"    {check.what}: expected {check.expected}, found {check.found}   see {result.folder}"


def _table(result: RunResult) -> Iterator[str]:
    rows = [
        ("", "expected", "found", ""),
        *((c.what, c.expected, c.found, "ok" if c.passed else "WRONG") for c in result.checks),
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for row in rows:
        yield "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, (*widths, 0), strict=True)).rstrip()


def _conclusion(result: RunResult) -> str:
    if result.skipped:
        return f"{result.name} was not run: it {result.skipped}"
    if not result.passed:
        return f"{result.name} does not behave as expected"
    return f"{result.name} behaves as expected" + (
        "" if result.program == "fixed.py" else f"; the fixed version: `ddpdoctor repro run {result.name} --fixed`"
    )


def _as_json(result: RunResult) -> dict[str, object]:
    return {**codec.encode(result), "passed": result.passed}


def _case_as_json(case: Case) -> dict[str, object]:
    return {**codec.encode(case), "folder": str(case.folder), "outcome": case.expected_ending}


def _short(word: str) -> str:
    """A path relative to the working directory if it is below it, anything else unchanged."""
    root = f"{Path.cwd()}/"
    return word[len(root) :] if len(root) > 2 and word.startswith(root) else word


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def _say(text: str) -> None:
    print(f"ddpdoctor: {text}", file=sys.stderr, flush=True)
