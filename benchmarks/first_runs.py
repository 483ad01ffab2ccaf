"""First runs: `python -m benchmarks.first_runs FOLDER [--only TEXT]` measures programs that the engine has not seen.

FOLDER is a set: folders with a program and expected.toml, written and committed before anything of them was run under
ddpdoctor. Each program runs once under `ddpdoctor watch`; results are appended to results.jsonl in the set, with commit
and engine. A program that has a result is not run again: what was looked at and mended measures nothing. `--again FILE`
runs all of them and writes to FILE instead, to see what mending has changed.

Exit status 1 if anything was wrongly called certain or proven, or a healthy job was called a hang.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import json
import re
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks import measured
from tests.e2e.job import STARTUP, Report, Run, watch
from tests.statements.unsupported import unsupported_in

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

RESULTS = "results.jsonl"
#: the folder of all sets
SETS = measured.ROOT / "benchmarks" / "unseen"
#: seconds for --stall-after
PATIENCE = "8"
#: seconds that a broken program may take beside its start
LONGEST = 120.0


@dataclass(frozen=True, slots=True)
class Expected:
    """A program and the answer that its author expects, from expected.toml."""

    folder: Path
    framework: str
    launch: str
    ranks: int
    arguments: tuple[str, ...]
    #: hang, crash, healthy or slow
    outcome: str
    codes: tuple[str, ...]
    culprits: tuple[int, ...]
    #: (file, line) of the line to be shown first; each is as right as the others
    places: tuple[tuple[str, int], ...]
    #: whether the fault is behind a helper, a class, a callback or another module
    behind: bool
    #: seconds after which a program without a fault has ended
    seconds: float
    #: codes, culprits and place of a failure that is real and from which the job recovers by itself: a replaced attempt
    failure: tuple[tuple[str, ...], tuple[int, ...], tuple[str, int]] | None = None

    @property
    def harmless(self) -> bool:
        return self.outcome in ("healthy", "slow")


@dataclass(frozen=True, slots=True)
class FirstRun:
    """What was said of a program when it was run for the first time."""

    name: str
    framework: str
    behind: bool
    expected: str
    outcome: str
    deadlock: str
    code: str
    confidence: str
    culprits: tuple[int, ...]
    #: "file:line" that was shown first, "" for none
    place: str
    #: what is right of outcome, code, culprits, line; of a harmless program only the outcome is asked for
    right: tuple[str, ...]
    wrongly_certain: bool
    seconds: float
    #: sentences of the diagnoses that the evidence does not support (tests/statements)
    unsupported: tuple[str, ...] = ()
    #: why the run says nothing of the engine: the program failed by itself
    invalid: str = ""
    commit: str = ""
    engine: str = ""

    @property
    def harmless(self) -> bool:
        return self.expected.startswith(("healthy", "slow"))


def read(folder: Path) -> Expected:
    """Read expected.toml. Raises ValueError if a text does not occur exactly once."""
    told = tomllib.loads((folder / "expected.toml").read_text(encoding="utf-8"))
    places = [told, *told.get("also", [])] if told.get("text") else []
    return Expected(
        folder=folder,
        framework=told.get("framework", "torch"),
        launch=told.get("launch", "torchrun"),
        ranks=told["ranks"],
        arguments=tuple(str(argument) for argument in told.get("arguments", [])),
        outcome=told["outcome"],
        codes=tuple(told.get("codes", [])),
        culprits=tuple(told.get("culprits", [])),
        places=tuple(
            (place["file"], line) for place in places for line in _lines(folder / place["file"], place["text"])
        ),
        behind=told.get("behind", False),
        seconds=float(told.get("seconds", 60)),
        failure=_failure(folder, told["recovers"]) if "recovers" in told else None,
    )


def _failure(folder: Path, told: dict[str, Any]) -> tuple[tuple[str, ...], tuple[int, ...], tuple[str, int]]:
    place = told["file"], _line(folder / told["file"], told["text"])
    return tuple(told["codes"]), tuple(told["culprits"]), place


def _line(file: Path, text: str) -> int:
    lines = [number for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1) if text in line]
    if len(lines) != 1:
        raise ValueError(f"{file}: {text!r} occurs {len(lines)} times")
    return lines[0]


def _lines(file: Path, text: str) -> list[int]:
    """The line with this text, and the jump (`break`) that is all that a condition there does."""
    line = _line(file, text)
    return [line, *([jump] if (jump := _jump(file, line)) is not None else [])]


#: a line at which a statement begins that may be nothing but a jump
_JUMPS = re.compile(r"\s*(if|elif|except)\b")


def _jump(file: Path, line: int) -> int | None:
    """The line of the `break`, `continue`, `return` or `raise` that is the whole body of the `if` or `except` there."""
    source = file.read_text(encoding="utf-8")
    if not _JUMPS.match(source.splitlines()[line - 1]):
        return None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.If, ast.ExceptHandler)) and node.lineno == line and len(node.body) == 1:
            only = node.body[0]
            return only.lineno if isinstance(only, (ast.Break, ast.Continue, ast.Return, ast.Raise)) else None
    return None


def command(program: Expected) -> list[str]:
    """How the program is launched, with this interpreter's launchers."""
    script, ranks = str(program.folder / "train.py"), str(program.ranks)
    launchers = {
        "torchrun": [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks],
        # with --cpu it would start one process only
        "accelerate": [
            *(sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_machines", "1"),
            *("--num_processes", ranks, "--main_process_port", str(_free_port())),
        ],
        "python": [sys.executable],
    }
    extra = program.arguments
    if program.launch == "torchrun" and extra[:1] == ("--max-restarts",):
        return [*launchers["torchrun"], *extra[:2], script, *extra[2:]]
    return [*launchers[program.launch], script, *extra]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def run(program: Expected, folder: Path) -> FirstRun:
    """Run one program and judge what was said of it."""
    done = watch(
        command(program),
        folder,
        *("--on-hang", "stop" if program.harmless else "report", "--stall-after", PATIENCE),
        timeout=STARTUP + (program.seconds if program.harmless else LONGEST),
        until=lambda report: not program.harmless and (report["outcome"] == "hang" or _answers(program, report)),
    )
    return dataclasses.replace(judge(program, done), unsupported=_unsupported(done))


def _answers(program: Expected, report: Report) -> bool:
    """Whether it names the cause and the ranks of a job that it calls slow: of what is busy without end it will not say
    more. A job that is to crash ends itself."""
    final = report["outcome"] == "slow" and program.outcome != "crash"
    first = report["diagnoses"][0] if report["diagnoses"] and final else {}
    return first.get("code") in program.codes and set(first["culprits"]) == set(program.culprits)


def _unsupported(done: Run) -> tuple[str, ...]:
    """Of the last verdict, whose evidence is in the bundle."""
    return tuple(map(str, unsupported_in(done.bundle))) if done.bundle.is_dir() else ()


def judge(program: Expected, done: Run) -> FirstRun:
    """Compare the decisive report with what was expected: the last one, or the gravest one of a harmless program."""
    gravest = [one for one in done.reports if one["outcome"] in ("hang", "crash") and not _recovered(program, one)]
    told = gravest or list(done.reports)
    report: Report | None = told[0 if program.harmless else -1] if told else None
    outcome = str(report["outcome"]) if report else "healthy"
    first: dict[str, Any] = report["diagnoses"][0] if report and report["diagnoses"] else {}
    place = next(((one["file"], one["line"]) for one in first.get("locations", [])), None)
    culprits = tuple(first.get("culprits", ()))
    right: list[str] = []
    if program.harmless:
        right += ["outcome"] if not gravest and done.status == 0 else []
    else:
        right += ["outcome"] if outcome == program.outcome else []
        right += ["code"] if first.get("code") in program.codes else []
        right += ["culprits"] if first and set(culprits) == set(program.culprits) else []
        right += ["line"] if place and is_named(program, *place) else []
    return FirstRun(
        name=program.folder.name,
        framework=program.framework,
        behind=program.behind,
        expected=f"{program.outcome} {' or '.join(program.codes)} {list(program.culprits)}",
        outcome=outcome,
        deadlock=str(report["deadlock"]) if report else "no",
        code=str(first.get("code", "none")),
        confidence=str(first.get("confidence", "none")),
        culprits=culprits,
        place=f"{Path(place[0]).name}:{place[1]}" if place else "",
        right=tuple(right),
        wrongly_certain=_wrongly_certain(program, report, right),
        seconds=round(done.seconds, 1),
        commit=measured.commit(),
        engine=measured.engine(),
    )


def _recovered(program: Expected, report: Report) -> bool:
    """Whether it tells truly of the failure from which the job recovers."""
    if program.failure is None or report["outcome"] != "crash":
        return False
    codes, culprits, (file, line) = program.failure
    first = report["diagnoses"][0] if report["diagnoses"] else {}
    places = [(Path(one["file"]).name, one["line"]) for one in first.get("locations", [])[:1]]
    return first.get("code") in codes and first["culprits"] == list(culprits) and places == [(Path(file).name, line)]


def is_named(program: Expected, file: str, line: int) -> bool:
    """Whether this line is one of those that are right."""
    return any(Path(file).name == Path(name).name and line == number for name, number in program.places)


def _wrongly_certain(program: Expected, report: Report | None, right: list[str]) -> bool:
    if report is None or not report["diagnoses"]:
        return False
    first = report["diagnoses"][0]
    if program.harmless:
        return bool(report["deadlock"] == "proven" or first["confidence"] == "certain")
    code = first["confidence"] == "certain" and "code" not in right
    return bool(code or (first["culprit_confidence"] == "certain" and "culprits" not in right))


def programs(folder: Path) -> list[Expected]:
    """The programs of a set, by name."""
    return [read(path.parent) for path in sorted(folder.glob("*/expected.toml"))]


def sets() -> dict[str, list[FirstRun]]:
    """The results of every set that was run."""
    return {file.parent.name: results(file) for file in sorted(SETS.glob(f"*/{RESULTS}"))}


def results(file: Path) -> list[FirstRun]:
    if not file.exists():
        return []
    loaded = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    listed = ("culprits", "right", "unsupported")
    return [FirstRun(**{**one, **{name: tuple(one.get(name, ())) for name in listed}}) for one in loaded]


def run_all(
    todo: Sequence[Expected], run: Callable[[Expected, Path], T], file: Path, jobs: int, in_words: Callable[[T], str]
) -> None:
    """Run each program in a folder of its own, and append what `run` returns, a dataclass, to `file`."""
    root = Path(tempfile.mkdtemp(prefix="ddpdoctor-first-runs-"))
    print(f"output is kept in {root}", file=sys.stderr)
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(run, one, root / one.folder.name): one for one in todo}
        for number, future in enumerate(as_completed(futures), 1):
            found = future.result()
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(dataclasses.asdict(found)) + "\n")
            print(
                f"[{number}/{len(todo)}] {futures[future].folder.name}: {in_words(found)}", file=sys.stderr, flush=True
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="TEXT", help="only programs with this text in their name")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("--again", type=Path, metavar="FILE", help="run all, also those with a result, and write here")
    args = parser.parse_args()
    file: Path = args.again or args.folder / RESULTS
    known = {one.name for one in results(file)}
    todo = [one for one in programs(args.folder) if one.folder.name not in known and args.only in one.folder.name]
    print(f"{len(known)} have a result, {len(todo)} are to be run", file=sys.stderr)
    run_all(todo, run, file, args.jobs, in_words)
    return 1 if any(one.wrongly_certain or _alarm(one) for one in results(file) if not one.invalid) else 0


def _alarm(found: FirstRun) -> bool:
    return found.harmless and "outcome" not in found.right


def in_words(found: FirstRun) -> str:
    """One line on a run: what was right, what was expected, what was said."""
    said = f"{found.outcome} {found.deadlock} {found.code} {found.confidence} {list(found.culprits)} {found.place}"
    sure = "WRONGLY CERTAIN; " if found.wrongly_certain else ""
    right = ", ".join(found.right) or "nothing"
    unsupported = "".join(f"\n    unsupported: {fault}" for fault in found.unsupported)
    return f"{sure}right: {right}; expected {found.expected}; said {said}{unsupported}"


if __name__ == "__main__":
    sys.exit(main())
