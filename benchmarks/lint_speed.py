"""The speed of `ddpdoctor lint`, compared with other linters on the same trees in one run.

    python -m benchmarks.lint_speed [--trees FOLDER...] [--tools FOLDER] [--runs N] [--jobs N] [--limit SECONDS]

It prints Markdown, as docs/lint.md shows it. Trees: this interpreter's site-packages, those of its files that use
torch.distributed, and the folders of `--trees` together, which hold checkouts of training repositories. flake8 (with
torchfix) and pylint are taken from FOLDER/bin, a separate virtual environment; ruff is the one next to this
interpreter, with its default and its shortest output. All are held to as many cores as jobs. The tools run alternately
and the best of N counts, so that a busy machine affects all of them; a tool that takes over a minute runs once. A tool
that is missing, does not finish within SECONDS or fails with an internal error is reported as such.

ddpdoctor runs twice: without its cache, and with a cache of its own that a run before has filled. `--only slowest`
lists the files of `--trees` that take it most processor time.
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

from benchmarks import figures, peers
from benchmarks.figures import Figure, Unit
from ddpdoctor.lint import engine, files, registry
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings

ROOT = Path(__file__).parents[1]
#: as an installed console script does
_PROGRAM = "import sys; from ddpdoctor.cli.main import main; sys.exit(main(sys.argv[1:]))"
_TRAIN = "import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    dist.barrier()\n"
OURS = "ddpdoctor lint"
CACHED = "the same, with its cache"
#: files of `--only slowest`
_SLOWEST = 8
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
    #: a run that is not measured comes first
    warmed: bool = False
    #: whether what it prints is kept, to see whether it ended well; what ruff prints is over a gigabyte
    heard: bool = False


def main() -> None:
    """Measure, and print one table a tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, default=peers.FOLDER, help="environment with flake8 and pylint")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=900.0)
    parser.add_argument("--jobs", type=int, default=2, help="processes of each tool, and cores that all are held to")
    parser.add_argument("--trees", type=Path, nargs="*", default=[], help="folders with training repositories")
    parser.add_argument("--only", choices=("one", "packages", "distributed", "trees", "slowest"),
                        help="one of the measurements")  # fmt: skip
    args = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.jobs])
    packages = Path(sysconfig.get_path("purelib"))
    with tempfile.TemporaryDirectory() as folder:
        installed = _installed(Path(folder) / "installed")
        if args.only in (None, "one"):
            _one_file(installed, Path(folder), max(args.runs, 10))
        if args.only in (None, "packages"):
            _compare("site-packages", [packages], installed, args)
        if args.only in (None, "distributed"):
            _compare("its files that use torch.distributed", [_distributed(packages, Path(folder))], installed, args)
        if args.only in (None, "trees") and args.trees:
            _compare("training repositories", args.trees, installed, args)
        if args.only == "slowest":
            _slowest(args.trees)


def measure(runs: int) -> list[Figure]:
    """Beside each peer on the installed files that use torch.distributed: our time as a multiple of its time."""
    cores = os.sched_getaffinity(0)
    args = argparse.Namespace(jobs=2, runs=runs, limit=300.0, tools=peers.FOLDER)
    os.sched_setaffinity(0, sorted(cores)[: args.jobs])
    try:
        with tempfile.TemporaryDirectory() as folder:
            installed = _installed(Path(folder) / "installed")
            tree = _distributed(Path(sysconfig.get_path("purelib")), Path(folder))
            tools = _tools([tree], args, Path(folder))
            _alternate(tools, installed, args)
            files_ = sum(1 for path in tree.rglob("*.py") if path.stat().st_size)
    finally:
        os.sched_setaffinity(0, cores)
    ours = tools[0]
    found = [figures.repeated(f"{ours.name} of {files_} files, without its cache", ours.wall, Unit.SECONDS)]
    for tool in tools[1:]:
        if tool.missing:
            raise RuntimeError(f"{tool.name}: {tool.missing}")
        for what, mine, theirs in (("time", ours.wall, tool.wall), ("processor time", ours.cpu, tool.cpu)):
            ratios = [[one / other for one, other in zip(mine, theirs, strict=False)]]
            found.append(figures.paired(f"its {what}, of that of {_with_version(tool.name)}", ratios))
    return found


def _with_version(name: str) -> str:
    packages = [package for package in ("flake8", "torchfix", "pylint") if package in name]
    versions = " ".join(f"{package} {peers.version(package)}" for package in packages)
    return f"`{name}`" if name.startswith("ruff") else versions or name


def _installed(folder: Path) -> dict[str, str]:
    """The environment of our own runs: a copy of the package with its byte code, as pip would install it."""
    shutil.copytree(ROOT / "ddpdoctor", folder / "ddpdoctor", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}


def _one_file(environ: dict[str, str], folder: Path, runs: int) -> None:
    # not beside the installed package, which would be a part of its project
    script = folder / "alone" / "train.py"
    script.parent.mkdir()
    script.write_text(_TRAIN)
    print(f"\n| one file, end to end, best of {runs} | wall | processor | memory |\n|---|---|---|---|")
    ours = [sys.executable, "-c", _PROGRAM, "lint"]
    real = _longest_fixture()
    tools = [
        Tool("`python -c pass`", [sys.executable, "-c", "pass"]),
        Tool("a script of four lines", [*ours, "--no-cache", str(script)]),
        Tool(f"a real one, {real.read_text().count(chr(10))} lines", [*ours, "--no-cache", str(real)]),
        Tool("the same, with the cache", [*ours, str(real)], environ=_own_cache(folder)),
    ]
    for _ in range(runs):
        for tool in tools:
            _run(tool, environ, 60.0)
    for tool in tools:
        print(f"| {tool.name} | {min(tool.wall):.3f} s | {min(tool.cpu):.3f} s | {tool.peak:.0f} MB |")


def _own_cache(folder: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(folder / "cache")}


def _slowest(trees: list[Path]) -> None:
    """The files that take most processor time, in one process, each with the modules that it imports unparsed."""
    engine.relax_collector()
    registry.registered()
    settings = Settings(registry.defaults())
    took: list[tuple[float, str]] = []
    for tree in trees:
        for path, named, _ in files.mattering(list(files.discover([str(tree)], settings)), 1):
            began = time.process_time()
            Linter(settings).file(path, named=named)
            took.append((time.process_time() - began, path))
    print("\n| file | processor |\n|---|---|")
    for seconds, path in sorted(took, reverse=True)[:_SLOWEST]:
        print(f"| {path} | {seconds:.2f} s |")


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


def _tools(folders: list[Path], args: argparse.Namespace, cache: Path) -> list[Tool]:
    ruff = [str(Path(sys.executable).parent / "ruff"), "check", "--no-cache", "--isolated", "--select", "ALL"]
    jobs, given, tools = str(args.jobs), [str(folder) for folder in folders], args.tools
    threads = {"RAYON_NUM_THREADS": jobs}
    ours = [sys.executable, "-c", _PROGRAM, "lint", "--jobs", jobs]
    # a folder that is no package is passed over by pylint: it is given every file
    all_files = [str(path) for folder in folders for path in sorted(folder.rglob("*.py"))]
    return [
        Tool(OURS, [*ours, "--no-cache", *given], heard=True),
        Tool(CACHED, [*ours, *given], heard=True, warmed=True, environ=_own_cache(cache)),
        Tool("ruff check --select ALL", [*ruff, *given], environ=threads),
        Tool("ruff check --select ALL --output-format concise", [*ruff, "-q", "--output-format", "concise", *given],
             environ=threads),
        Tool("flake8 with torchfix", [
            str(tools / "bin" / "flake8"), "--jobs", jobs, "--isolated", "--exclude", _TOO_DEEP, *given,
        ], heard=True),
        Tool("pylint", [str(tools / "bin" / "pylint"), "--jobs", jobs, "--rcfile", os.devnull, *all_files], heard=True),
    ]  # fmt: skip


def _compare(title: str, folders: list[Path], environ: dict[str, str], args: argparse.Namespace) -> None:
    sources = [
        raw for folder in folders for path in folder.rglob("*.py") if path.is_file() and (raw := path.read_bytes())
    ]
    lines = sum(raw.count(b"\n") for raw in sources)
    print(
        f"\n{title}: {len(sources):,} files, {lines:,} lines, {args.jobs} jobs each, best of {args.runs}\n", flush=True
    )
    with tempfile.TemporaryDirectory() as cache:
        tools = _tools(folders, args, Path(cache))
        _alternate(tools, environ, args)
    print(
        "| | wall | processor | memory, all processes | wall, of ours | processor, of ours |\n|---|---|---|---|---|---|"
    )
    for tool in tools:
        print(_row(tool, tools[0]), flush=True)


def _alternate(tools: list[Tool], environ: dict[str, str], args: argparse.Namespace) -> None:
    """So many runs of each tool, every second round in the reverse order."""
    for number in range(args.runs):
        for tool in reversed(tools) if number % 2 else tools:
            if not tool.missing and not (tool.wall and tool.wall[0] > _SLOW):
                own = environ if tool.name in (OURS, CACHED) else dict(os.environ)
                if tool.warmed:
                    tool.warmed = False
                    _run(Tool(tool.name, tool.command, environ=tool.environ), own, args.limit)
                _run(tool, own, args.limit)


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
        # before the watcher ends, which looks every so often: that would be a third of a short run
        took = time.perf_counter() - began
        watcher.join()
        said.seek(0)
        if not tool.missing and any(error in line for line in said for error in _ERRORS):
            tool.missing = f"ended in an error of its own after {took:.0f} s"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    tool.wall.append(took)
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
