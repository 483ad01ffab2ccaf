"""Which versions of torch it works with: `python -m benchmarks.compat 2.9.1 [...]` runs twelve jobs with each of them.

For each version, one after the other, an environment is made in a temporary folder: that torch (`newest` for the newest
one), numpy, and this checkout's ddpdoctor, installed. The jobs of benchmarks/compat_cases.py run there, and the
environment is removed: a build of torch with what it needs of CUDA takes 5 to 8 GB. `--python` takes another
interpreter. pip's own settings (PIP_EXTRA_INDEX_URL, say) say where torch comes from.

Results are appended to build/compat.jsonl, so that an interrupted measurement goes on where it stopped. `--page` copies
them into benchmarks/compat_results.jsonl, which is committed, in place of older ones of the same versions, and writes
docs/compatibility.md from it.

Exit status 1 if anything was wrongly called certain, or is worse than expected without a gap that says why.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import compat_cases, compat_page, ledger, measured
from benchmarks.compat_cases import JOBS, Job
from benchmarks.compat_page import NO_ENVIRONMENT, Row
from benchmarks.ledger import Ledger, Task
from benchmarks.measured import ROOT
from ddpdoctor.model.codec import decode

RESULTS = ROOT / "build" / "compat.jsonl"
COMMITTED = ROOT / "benchmarks" / "compat_results.jsonl"
PAGE = ROOT / "docs" / "compatibility.md"
NEWEST = "newest"
#: what the jobs import from this checkout beside ddpdoctor
BESIDE = ("benchmarks", "tests")
#: seconds that a job may take beyond what its fixture asks for: the runner has limits of its own
LONGEST = 900.0


class NotMade(Exception):
    """The environment cannot be made: pip has no such torch."""


@dataclasses.dataclass(frozen=True, slots=True)
class Environment:
    """An environment for one version."""

    torch: str
    #: of the interpreter, such as "3.11.7"
    version: str
    python: Path
    #: from where the jobs are run: what they import lies there, and ddpdoctor does not
    folder: Path


def main() -> int:
    args = _arguments()
    results = Ledger(RESULTS, functools.partial(decode, Row), fresh=args.fresh)
    for torch in args.torch:
        _measure(torch, args.python, args.jobs, results)
    if args.page:
        rows = merged(_committed(), results.results)
        COMMITTED.write_text("".join(json.dumps(dataclasses.asdict(row)) + "\n" for row in rows), encoding="utf-8")
        PAGE.write_text(compat_page.page(rows, {job.name: job.about for job in JOBS}), encoding="utf-8")
    found = [row for row in results.results if row.is_unexplained]
    for row in found:
        print(f"UNEXPLAINED {row.key}: {row.in_words()}")
    return 1 if found else 0


def merged(before: Sequence[Row], fresh: Sequence[Row]) -> list[Row]:
    """The rows with the fresh ones in place of those of the same version, Python and job."""
    rows = {row.key: row for row in before} | {row.key: row for row in fresh}
    made = {(row.torch, row.python) for row in rows.values() if row.case != NO_ENVIRONMENT}
    return [row for row in rows.values() if row.case != NO_ENVIRONMENT or (row.torch, row.python) not in made]


def _committed() -> list[Row]:
    text = COMMITTED.read_text(encoding="utf-8") if COMMITTED.exists() else ""
    return [decode(Row, json.loads(line)) for line in text.splitlines()]


def _measure(torch: str, python: str, jobs: int, results: Ledger[Row]) -> None:
    """Run what has no result yet with one version."""
    version = asked(python, "import platform; print(platform.python_version())")
    if torch != NEWEST and all(f"{torch}/{version}/{job.name}" in results for job in JOBS):
        print(f"torch {torch}, Python {version}: all jobs have their results", file=sys.stderr)
        return
    try:
        with _environment(torch, python, version) as made:
            ledger.run(list(_tasks(made, results)), jobs)
    except NotMade as fault:
        print(f"torch {torch}, Python {version}: {fault}", file=sys.stderr)
        results.add(_not_made(torch, version, str(fault)))


def _not_made(torch: str, version: str, why: str) -> Row:
    return Row(
        torch, torch, version, os.uname().release, NO_ENVIRONMENT, lacks=why, engine=measured.engine(), commit=_commit()
    )


def _tasks(made: Environment, results: Ledger[Row]) -> Iterator[Task[Row]]:
    for job in JOBS:
        yield Task(f"{made.torch}/{made.version}/{job.name}", results, functools.partial(_run, made, job))


def _run(made: Environment, job: Job, folder: Path, stop: threading.Event) -> Row:
    """Run one job in the environment. Raises RuntimeError if that did not work."""
    del stop  # Ctrl-C reaches the job's own process as well
    command = [str(made.python), "-m", "benchmarks.compat_cases", job.name, str(folder)]
    told = subprocess.run(
        command,
        cwd=made.folder,
        env=plain(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=job.case.seconds + LONGEST,
    )
    if told.returncode != 0:
        raise RuntimeError(f"{job.name} with torch {made.torch}: {told.stderr.strip()[-2000:]}")
    row = decode(Row, json.loads((folder / compat_cases.ROW).read_text(encoding="utf-8")))
    if row.engine != measured.engine():
        raise RuntimeError(f"another ddpdoctor than this checkout's was run in {made.folder}")
    return dataclasses.replace(row, commit=_commit())


def _commit() -> str:
    return measured.commit()


@contextmanager
def _environment(torch: str, python: str, version: str) -> Iterator[Environment]:
    """Make an environment, and remove it at the end. Raises NotMade if pip has no such torch for this Python."""
    folder = Path(tempfile.mkdtemp(prefix="ddpdoctor-compat-"))
    try:
        print(f"torch {torch}, Python {version}: installing into {folder}", file=sys.stderr, flush=True)
        subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
        own = folder / "venv" / "bin" / "python"
        wanted = "torch" if torch == NEWEST else f"torch=={torch}"
        _pip(own, wanted, "numpy", str(ROOT))
        for name in BESIDE:
            (folder / name).symlink_to(ROOT / name)
        found = asked(str(own), "import torch; print(torch.__version__)")
        yield Environment(found.partition("+")[0], version, own, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _pip(python: Path, *what: str) -> None:
    """Install; nothing is kept in pip's cache, which would grow by gigabytes.

    Raises NotMade if there is no such torch, SystemExit with what pip says if it fails otherwise.
    """
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-cache-dir", "-q", *what]
    told = subprocess.run(command, env=plain(), capture_output=True, text=True, check=False)
    if "No matching distribution found for torch==" in told.stderr:
        raise NotMade("no such build")
    if told.returncode != 0:
        raise SystemExit(f"pip failed:\n{told.stderr.strip()[-4000:]}")


def asked(python: str, program: str) -> str:
    told = subprocess.run([python, "-c", program], env=plain(), capture_output=True, text=True, check=False)
    if told.returncode != 0:
        raise SystemExit(f"{python} does not work:\n{told.stderr.strip()[-4000:]}")
    return told.stdout.strip()


def plain() -> dict[str, str]:
    """Our environment without what leads a Python to the packages of another."""
    return {
        **{name: value for name, value in os.environ.items() if not re.match("PYTHON|VIRTUAL_ENV", name)},
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "torch", nargs="*", type=_version, metavar="TORCH", help="a version, such as 2.9.1, or `newest`"
    )
    parser.add_argument("--python", default=sys.executable, help="the interpreter (default: this one)")
    parser.add_argument("--jobs", type=int, default=2, help="jobs at a time (default: 2)")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs have found")
    parser.add_argument("--page", action="store_true", help="keep the results, and write the page")
    args = parser.parse_args()
    if not args.torch and not args.page:
        parser.error("which version of torch? for example 2.9.1, or `newest`: make compat TORCH=2.9.1")
    return args


def _version(text: str) -> str:
    if text != NEWEST and not re.fullmatch(r"\d+\.\d+\.\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no version of torch, such as 2.9.1, nor `{NEWEST}`")
    return text


if __name__ == "__main__":
    sys.exit(main())
