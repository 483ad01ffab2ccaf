"""What lint says of a file of a commit: linted in the commit's tree, remembered in a file. Impure: runs lint."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from benchmarks.lint_history import clones
from benchmarks.lint_history.clones import CloneError
from benchmarks.measured import ROOT, digest

#: what the findings of a file depend on
ENGINE = ("lint", "program", "model", "cli")
#: files that import a linted file and are linted with it, at most
IMPORTERS = 25
_PROGRAM = "import sys; from ddpdoctor.cli.main import main; sys.exit(main(sys.argv[1:]))"


@dataclasses.dataclass(frozen=True, slots=True)
class File:
    """A file of a commit of a repository."""

    repository: str
    commit: str
    path: str


@dataclasses.dataclass(frozen=True, slots=True)
class Told:
    """One finding: its rule, whether lint tells it by default (hints are opt-in), and all places that it names."""

    code: str
    by_default: bool
    #: (path in the tree, line), the finding's own first
    places: tuple[tuple[str, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Linted:
    """The findings of one file, or why there are none."""

    findings: tuple[Told, ...] = ()
    #: "" if the file was linted
    error: str = ""


def lint_all(
    files: Iterable[File], folder: Path, memory: Path, *, jobs: int, limit: float, progress: Callable[[str], None]
) -> dict[File, Linted]:
    """Lint each file in its commit's tree; what `memory` holds of this engine is not linted again.

    `limit`: seconds for one file. A file that could not be linted is remembered with the reason, except if its clone is
    missing.
    """
    wanted = dict.fromkeys(files)
    known = {file: linted for file, linted in _read(memory).items() if file in wanted}
    trees: dict[tuple[str, str], list[File]] = defaultdict(list)
    for file in wanted:
        if file not in known:
            trees[file.repository, file.commit].append(file)
    missing = {name for name, _ in trees if clones.find(folder, name) is None}
    for name in sorted(missing):
        progress(f"{name}: no clone in {folder}")
    lock, left = threading.Lock(), len([tree for tree in trees if tree[0] not in missing])

    def one_tree(tree: tuple[str, str]) -> None:
        nonlocal left
        results = _lint_tree(folder, trees[tree], limit)
        with lock:
            known.update(results)
            _append(memory, results)
            left -= 1
            errors = "".join(f": {linted.error}" for linted in results.values() if linted.error)
            progress(f"{tree[0]} {tree[1][:10]}{errors} ({left} trees left)")

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one_tree, (tree for tree in trees if tree[0] not in missing)))
    return known


def _lint_tree(folder: Path, files: list[File], limit: float) -> dict[File, Linted]:
    clone = clones.find(folder, files[0].repository)
    assert clone is not None
    with tempfile.TemporaryDirectory(prefix="lint-history-") as name:
        # the tree's own folder is no package: lint's paths begin below it
        tree = Path(name).resolve() / "tree"
        # a checkout ends here: imports are searched up to this folder
        (tree / ".git").mkdir(parents=True)
        (tree / ".git" / "HEAD").touch()
        try:
            clones.extract(clone, files[0].commit, tree)
        except CloneError as error:
            return dict.fromkeys(files, Linted(error=str(error)))
        return {file: _lint(tree, file.path, limit) for file in files}


def _lint(tree: Path, path: str, limit: float) -> Linted:
    """The findings that name a place in the file, in it or in a file that imports it: lint may place them there."""
    if not (tree / path).is_file():
        return Linted(error=f"{path}: not in this commit")
    options = ["--select", "ALL", "--jobs", "1", "-o", "json"]
    command = [sys.executable, "-c", _PROGRAM, "lint", *options, "--", path, *importers(tree, path)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
    try:
        run = subprocess.run(command, cwd=tree, env=environ, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return Linted(error=f"{path}: not linted within {limit:.0f} s")
    if run.returncode not in (0, 1):
        told = run.stderr.strip().splitlines()
        return Linted(error=f"{path}: lint ended with {run.returncode}: {told[-1] if told else ''}")
    findings = (_told(tree, finding) for finding in json.loads(run.stdout))
    return Linted(tuple(told for told in findings if any(place == path for place, _ in told.places)))


def importers(tree: Path, path: str) -> list[str]:
    """Files with an import statement that names the file's module, the nearest folders first; `IMPORTERS` at most."""
    own = PurePosixPath(path)
    name = own.parent.name if own.stem == "__init__" else own.stem
    names_it = re.compile(rf"^\s*(?:from|import)\b.*\b{re.escape(name)}\b".encode(), re.MULTILINE)
    found = [
        (len(Path(os.path.relpath(other.parent, (tree / path).parent)).parts), inside)
        for other in tree.rglob("*.py")
        if (inside := other.relative_to(tree).as_posix()) != path and names_it.search(other.read_bytes())
    ]
    return [inside for _, inside in sorted(found)[:IMPORTERS]]


def _told(tree: Path, finding: dict[str, object]) -> Told:
    related = finding["related"]
    assert isinstance(related, list)
    places = tuple((_inside(tree, place["file"]), int(place["line"])) for place in (finding, *related))
    return Told(str(finding["code"]), finding["severity"] != "hint", places)


def _inside(tree: Path, path: object) -> str:
    return Path(os.path.relpath(tree / str(path), tree)).as_posix()


def _read(memory: Path) -> dict[File, Linted]:
    """What is remembered of this engine. A line that was cut off is left out."""
    known: dict[File, Linted] = {}
    for line in memory.read_text(encoding="utf-8").splitlines() if memory.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record["engine"] == digest(ENGINE):
            findings = tuple(
                Told(code, by_default, tuple((path, number) for path, number in places))
                for code, by_default, places in record["findings"]
            )
            known[File(*record["file"])] = Linted(findings, record["error"])
    return known


def _append(memory: Path, results: dict[File, Linted]) -> None:
    memory.parent.mkdir(parents=True, exist_ok=True)
    with memory.open("a", encoding="utf-8") as out:
        for file, linted in results.items():
            record = {
                "engine": digest(ENGINE), "file": dataclasses.astuple(file), "error": linted.error,
                "findings": [dataclasses.astuple(told) for told in linted.findings],
            }  # fmt: skip
            out.write(json.dumps(record) + "\n")
