"""The speed of `ddpdoctor lint`, compared with other linters on the same trees in one run.

    python -m benchmarks.lint_speed [--tools FOLDER] [--runs N] [--limit SECONDS]

It prints Markdown, as docs/lint.md shows it. Two trees: this interpreter's site-packages, and those of its files that
use torch.distributed. flake8 (with torchfix) and pylint are taken from FOLDER/bin, a separate virtual environment; ruff
is the one next to this interpreter, with its default and its shortest output. The tools run alternately and the best of
N counts, so that a busy machine affects all of them; a tool that takes over a minute runs once. A tool that is missing,
does not finish within SECONDS or fails with an internal error is reported as such.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[1]
JOBS = "4"
#: as an installed console script does
_PROGRAM = "import sys; from ddpdoctor.cli.main import main; sys.exit(main(sys.argv[1:]))"
_TRAIN = "import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    dist.barrier()\n"
OURS = "ddpdoctor lint"
#: a module of sympy on which pyflakes, and flake8 with it, ends in a RecursionError
_TOO_DEEP = "resolvent_lookup.py"
_ERRORS = (b"Traceback (most recent call last)", b"failed during execution")
#: seconds after which a tool is not run again
_SLOW = 60.0


@dataclass
class Tool:
    """One linter and what its runs took."""

    name: str
    command: list[str]
    #: seconds from start to end, and of processor time with its children's
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    #: megabytes of all its processes together, at most
    peak: float = 0.0
    missing: str = ""
    environ: dict[str, str] = field(default_factory=dict)
    #: whether what it prints is kept, to see whether it ended well; what ruff prints is over a gigabyte
    heard: bool = False


def main() -> None:
    """Measure, and print one table a tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, default=Path(sys.prefix), help="environment with flake8 and pylint")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=900.0)
    parser.add_argument("--only", choices=("one", "packages", "distributed"), help="one of the three measurements")
    args = parser.parse_args()
    packages = Path(sysconfig.get_path("purelib"))
    with tempfile.TemporaryDirectory() as folder:
        installed = _installed(Path(folder) / "installed")
        if args.only in (None, "one"):
            _one_file(installed, Path(folder), max(args.runs, 10))
        if args.only in (None, "packages"):
            _compare("site-packages", packages, installed, args)
        if args.only in (None, "distributed"):
            _compare("its files that use torch.distributed", _distributed(packages, Path(folder)), installed, args)


def _installed(folder: Path) -> dict[str, str]:
    """The environment of our own runs: a copy of the package with its byte code, as pip would install it."""
    shutil.copytree(ROOT / "ddpdoctor", folder / "ddpdoctor", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}


def _one_file(environ: dict[str, str], folder: Path, runs: int) -> None:
    (folder / "train.py").write_text(_TRAIN)
    print(f"\n| one file, end to end, best of {runs} | wall | processor | memory |\n|---|---|---|---|")
    for name, target in (("a script of four lines", folder / "train.py"), ("a real one", _longest_fixture())):
        tool = Tool(name, [sys.executable, "-c", _PROGRAM, "lint", str(target)])
        for _ in range(runs):
            _run(tool, environ, 60.0)
        lines = target.read_text().count("\n")
        print(f"| {name}, {lines} lines | {min(tool.wall):.3f} s | {min(tool.cpu):.3f} s | {tool.peak:.0f} MB |")


def _longest_fixture() -> Path:
    return max((ROOT / "fixtures").glob("*/broken.py"), key=lambda path: path.stat().st_size)


def _distributed(packages: Path, folder: Path) -> Path:
    """A copy of the files that use torch.distributed; their folders are packages still, by an empty `__init__.py`."""
    target = folder / "distributed"
    for path in sorted(packages.rglob("*.py")):
        raw = path.read_bytes()
        inside = path.relative_to(packages)
        # torch's compiler is far from anything that a person lints, and most of torch
        if b"torch.distributed" in raw and (inside.parts[0] != "torch" or inside.parts[1] == "distributed"):
            (target / inside).parent.mkdir(parents=True, exist_ok=True)
            (target / inside).write_bytes(raw)
            for package in inside.parents[:-1]:
                (target / package / "__init__.py").touch()
    return target


def _tools(folder: Path, tools: Path) -> list[Tool]:
    ruff = [str(Path(sys.executable).parent / "ruff"), "check", "--no-cache", "--isolated", "--select", "ALL"]
    threads = {"RAYON_NUM_THREADS": JOBS}
    # a folder that is no package is passed over by pylint: it is given every file
    files = [str(path) for path in sorted(folder.rglob("*.py"))]
    return [
        Tool(OURS, [sys.executable, "-c", _PROGRAM, "lint", "--jobs", JOBS, str(folder)], heard=True),
        Tool("ruff check --select ALL", [*ruff, str(folder)], environ=threads),
        Tool("the same, --output-format concise", [*ruff, "-q", "--output-format", "concise", str(folder)],
             environ=threads),
        Tool("flake8 with torchfix", [
            str(tools / "bin" / "flake8"), "--jobs", JOBS, "--isolated", "--exclude", _TOO_DEEP, str(folder),
        ], heard=True),
        Tool("pylint", [str(tools / "bin" / "pylint"), "--jobs", JOBS, "--rcfile", os.devnull, *files], heard=True),
    ]  # fmt: skip


def _compare(title: str, folder: Path, environ: dict[str, str], args: argparse.Namespace) -> None:
    sources = [raw for path in folder.rglob("*.py") if (raw := path.read_bytes())]
    lines = sum(raw.count(b"\n") for raw in sources)
    print(f"\n{title}: {len(sources):,} files, {lines:,} lines, {JOBS} jobs each, best of {args.runs}\n", flush=True)
    tools = _tools(folder, args.tools)
    for _ in range(args.runs):
        for tool in tools:
            if not tool.missing and not (tool.wall and tool.wall[0] > _SLOW):
                _run(tool, environ if tool.name == OURS else dict(os.environ), args.limit)
    print(
        "| | wall | processor | memory, all processes | wall, of ours | processor, of ours |\n|---|---|---|---|---|---|"
    )
    for tool in tools:
        print(_row(tool, tools[0]), flush=True)


def _row(tool: Tool, ours: Tool) -> str:
    if tool.missing or not tool.wall:
        return f"| {tool.name} | {tool.missing} | | | | |"
    wall, cpu = min(tool.wall), min(tool.cpu)
    return (
        f"| {tool.name} | {wall:.2f} s | {cpu:.2f} s | {tool.peak:.0f} MB | {wall / min(ours.wall):.1f} | "
        f"{cpu / min(ours.cpu):.1f} |"
    )


def _run(tool: Tool, environ: dict[str, str], limit: float) -> None:
    """One run; who ends in a traceback has not linted the tree."""
    if not Path(tool.command[0]).exists():
        tool.missing = "not installed"
        return
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryFile() as said:
        output = said if tool.heard else subprocess.DEVNULL
        process = subprocess.Popen(
            tool.command, stdout=output, stderr=output, env=environ | tool.environ, start_new_session=True
        )
        watcher = threading.Thread(target=_watch, args=(process, tool))
        watcher.start()
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            tool.missing = f"not done within {limit:.0f} s"
            _kill(process)
        watcher.join()
        said.seek(0)
        if not tool.missing and any(error in line for line in said for error in _ERRORS):
            tool.missing = f"ended in an error of its own after {time.perf_counter() - began:.0f} s"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    tool.wall.append(time.perf_counter() - began)
    tool.cpu.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def _watch(process: subprocess.Popen[bytes], tool: Tool) -> None:
    """The memory of a process and its children: what forked children share is counted once."""
    while process.poll() is None:
        total = 0
        try:
            parent = psutil.Process(process.pid)
            for one in (parent, *parent.children(recursive=True)):
                total += one.memory_full_info().pss
        except psutil.Error:
            continue
        tool.peak = max(tool.peak, total / 1e6)
        time.sleep(0.05)


def _kill(process: subprocess.Popen[bytes]) -> None:
    for one in (*psutil.Process(process.pid).children(recursive=True), process):
        one.kill()


if __name__ == "__main__":
    main()
