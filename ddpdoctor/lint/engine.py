"""Impure: reads files. From paths to findings, in a stable order, on several processes where there is much to do."""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ddpdoctor.errors import InputError
from ddpdoctor.lint import registry, source, suppress, taught
from ddpdoctor.lint.comments import read as comments_of
from ddpdoctor.lint.facts import modules
from ddpdoctor.lint.facts.facts import ModuleFacts
from ddpdoctor.lint.facts.project import Project
from ddpdoctor.lint.settings import Settings, ignored_here, matches
from ddpdoctor.model.finding import Finding, Severity

#: bytes of source that a worker process takes at a time
BATCH = 100_000
#: characters of source after which a process looks for garbage
GARBAGE = 600_000
#: files whose bytes a worker process looks at, at a time
LOOKS = 256
#: candidates below which starting processes costs more than it saves
FEW = 24

#: a path, and whether it was named itself rather than found in a folder
Candidate = tuple[str, bool]
Read = Callable[[str], "bytes | None"]


@dataclass(frozen=True, slots=True)
class Result:
    """Findings of one file, and its text for code frames ("" when there are no findings)."""

    path: str
    findings: tuple[Finding, ...]
    text: str = ""
    cells: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a run."""

    findings: tuple[Finding, ...]
    texts: Mapping[str, str]
    files: int


def read_file(path: str) -> bytes | None:
    """A file's bytes; None for what is not there, cannot be read or is no regular file (a FIFO would block)."""
    try:
        with open(path, "rb", opener=_open_regular) as stream:
            return stream.read()
    except (OSError, ValueError):
        return None


def is_file(path: str) -> bool:
    """Whether a regular file is there, by one look at its status."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - many a second
    except (OSError, ValueError):
        return False


def _open_regular(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a regular file")
    return descriptor


def discover(paths: Iterable[str], settings: Settings) -> Iterator[tuple[str, bool]]:
    """(file, whether it was named itself), each once, sorted within each folder. Links to folders are not followed.

    Raises InputError for a path that is not there.
    """
    seen: set[str] = set()
    for given in paths:
        path = Path(os.path.normpath(given))
        if path.is_dir():
            candidates: Iterable[tuple[str, bool]] = ((p, False) for p in _folder(str(path), settings))
        elif path.exists() or path.is_symlink():
            candidates = [(str(path), True)]
        else:
            raise InputError(f"{given}: no such file or folder")
        for candidate, named in candidates:
            if candidate not in seen:
                seen.add(candidate)
                yield candidate, named


def _folder(root: str, settings: Settings) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(d for d in folders if not _excluded(f"{folder}/{d}", settings))
        for name in sorted(files):
            path = os.path.normpath(f"{folder}/{name}")
            if name.endswith((".py", ".pyw", ".ipynb")) and not _excluded(path, settings):
                yield path


def _excluded(path: str, settings: Settings) -> bool:
    name = path.rpartition("/")[2]
    return any(pattern == name or ("*" in pattern and matches(path, pattern)) for pattern in settings.exclude)


class Linter:
    """Lints files one by one, sharing what it has parsed of the project."""

    def __init__(self, settings: Settings, root: str = "", *, read: Read | None = None) -> None:
        """`read` gives the bytes of a file of the project, None for one that is not there; else the disk does."""
        self._settings = settings
        self._root = root
        self._here = str(Path.cwd())
        #: characters linted since the last look for garbage
        self._since = 0
        self._project = Project(read) if read is not None else Project(read_file, is_file)

    def file(self, path: str, *, named: bool) -> Result:
        """Lint one file from disk."""
        raw = read_file(path)
        if raw is None:
            return Result(path, (_unreadable(path, source.Unreadable("cannot be read")),) if named else ())
        return self.bytes(path, raw, named=named)

    def bytes(self, path: str, raw: bytes, *, named: bool) -> Result:
        """Lint a file's contents; one that was `named` is read in full though it mentions no training itself."""
        if not named and not source.matters(raw):
            return Result(path, ())
        if len(raw) > source.LARGEST:
            too_large = source.Unreadable(f"too large to analyse: over {source.LARGEST // 1_000_000} MB of source")
            return self._result(path, [_unreadable(path, too_large)], "", ())
        decoded = source.decode(raw, notebook=path.endswith(".ipynb"))
        if isinstance(decoded, source.Unreadable):
            return self._result(path, [_unreadable(path, decoded)], "", ())
        tree = source.parse(decoded.text)
        if isinstance(tree, source.Unreadable):
            return self._result(path, [_unreadable(path, tree)], decoded.text, decoded.cells)
        absolute = os.path.normpath(f"{self._here}/{path}") if not path.startswith("/") else path
        module = modules.build(absolute, self._project.package(absolute)[1], decoded.text, tree)
        if suppress.whole_file(module.comments):
            return Result(path, ())
        self._project.adopt(module)
        self._since += len(decoded.text)
        if self._since > GARBAGE:
            # functions, classes and their module point at one another: an old one goes only when it is looked for
            self._since = 0
            gc.collect()
        findings = [*self._check(module, path), *taught.findings(module.taught.faults, path)]
        if findings or module.comments:
            comments = module.comments or comments_of(decoded.text)
            findings = suppress.apply(findings, suppress.read(comments), path, self._settings.codes)
        return self._result(path, findings, decoded.text, decoded.cells)

    def _check(self, module: modules.Module, path: str) -> list[Finding]:
        facts = ModuleFacts.of(module, self._project, self._settings.torch_version)
        found: dict[tuple[object, ...], Finding] = {}
        for entry in registry.registered():
            rule = entry.rule
            if rule.code not in self._settings.codes or (rule.words and not rule.words & module.words):
                continue
            for finding in entry.check(facts):
                if finding is not None:
                    key = (finding.code, finding.line, finding.column)
                    found.setdefault(key, _shown_as(finding, module.path, path, self._here))
        if facts.analysis.too_deep:
            deep = source.Unreadable("nested too deeply to analyse in full")
            found[("deep",)] = _unreadable(path, deep)
        return list(found.values())

    def _result(self, path: str, findings: list[Finding], text: str, cells: tuple[tuple[int, int], ...]) -> Result:
        known = registry.names()
        relative = os.path.relpath(path, self._root) if self._root else path
        silenced = ignored_here(self._settings, relative, known)
        kept = [f for f in findings if self._wanted(f) and f.code not in silenced]
        ordered = tuple(sorted(kept, key=_order))
        return Result(path, ordered, text if ordered else "", cells)

    def _wanted(self, finding: Finding) -> bool:
        hints = self._settings.hints
        if finding.severity is Severity.HINT and hints is not None and finding.code not in hints:
            return False
        return finding.code in self._settings.codes


def _order(finding: Finding) -> tuple[str, int, int, str]:
    return (finding.file, finding.line, finding.column, finding.code)


def _shown_as(finding: Finding, absolute: str, path: str, here: str) -> Finding:
    """The finding with paths as the user wrote them."""
    related = tuple(
        replace(r, file=path if r.file == absolute else os.path.relpath(r.file, here)) for r in finding.related
    )
    return replace(finding, file=path, related=related)


def _unreadable(path: str, problem: source.Unreadable) -> Finding:
    rule = registry.UNREADABLE
    return Finding(
        rule.code, rule.name, rule.severity, path, problem.line, problem.column, problem.line, problem.column,
        problem.message,
    )  # fmt: skip


def lint(paths: Iterable[str], settings: Settings, *, jobs: int = 1, root: str = "") -> Report:
    """Lint files and folders. Raises InputError for a path that is not there."""
    candidates = list(discover(paths, settings))
    if jobs > 1 and len(candidates) > FEW:
        results = _parallel(candidates, settings, jobs, root)
    else:
        results = _serial(candidates, settings, root)
    findings = tuple(f for r in results for f in r.findings)
    return Report(findings, {r.path: r.text for r in results if r.text}, len(candidates))


def relax_collector() -> None:
    """Let Python look for garbage less often: syntax trees are kept as long as they are used, and hold few cycles.

    For processes that do nothing but lint; it saves a fifth of their time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)


def _serial(candidates: list[Candidate], settings: Settings, root: str) -> list[Result]:
    linter = Linter(settings, root)
    return [linter.file(path, named=named) for path, named in candidates]


def _parallel(candidates: list[Candidate], settings: Settings, jobs: int, root: str) -> list[Result]:
    """Look at the bytes of every file first: most matter to no rule, and the rest are shared out by folder."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    registry.registered()  # loaded once, and there in every process that is forked
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, context, _start, (settings, root)) as pool:
        looks = [candidates[i : i + LOOKS] for i in range(0, len(candidates), LOOKS)]
        mattering = [found for batch in pool.map(_mattering, looks) for found in batch]
        batches = list(_by_folder(mattering))
        results = {r.path: r for batch in pool.map(_batch, batches) for r in batch}
    return [results[path] for path, _ in candidates if path in results]


def _mattering(candidates: list[Candidate]) -> list[tuple[str, bool, int]]:
    """Those that a rule could say something about, with their sizes in bytes."""
    found: list[tuple[str, bool, int]] = []
    for path, named in candidates:
        raw = read_file(path)
        if named or (raw is not None and source.matters(raw)):
            found.append((path, named, len(raw or b"")))
    return found


def _by_folder(mattering: list[tuple[str, bool, int]]) -> Iterator[list[Candidate]]:
    """Files of one folder together, as they use one another, in batches of like size; the largest first."""
    batches: list[tuple[int, list[Candidate]]] = []
    folder: str | None = None
    for path, named, size in mattering:
        here = os.path.dirname(path)  # noqa: PTH120 - a million of them
        if here != folder or batches[-1][0] > BATCH:
            batches.append((0, []))
            folder = here
        total, batch = batches[-1]
        batch.append((path, named))
        batches[-1] = (total + size, batch)
    batches.sort(key=lambda item: -item[0])
    return (batch for _, batch in batches)


_LINTERS: list[Linter] = []


def _start(settings: Settings, root: str) -> None:
    relax_collector()
    _LINTERS.append(Linter(settings, root))


def _batch(candidates: list[Candidate]) -> list[Result]:
    return [r for path, named in candidates if (r := _LINTERS[0].file(path, named=named)).findings]
