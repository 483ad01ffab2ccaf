"""Impure: reads files. From paths to findings, in a stable order, on several processes where there is much to do."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ddpdoctor.errors import InputError
from ddpdoctor.lint import registry, source, suppress
from ddpdoctor.lint.facts import modules
from ddpdoctor.lint.facts.facts import ModuleFacts
from ddpdoctor.lint.facts.project import Project
from ddpdoctor.lint.settings import Settings, ignored_here, matches
from ddpdoctor.model.finding import Finding

#: files that a worker process takes at a time
BATCH = 32
#: candidates below which starting processes costs more than it saves
FEW = 24


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


def read(path: str) -> bytes | None:
    """A file's bytes; None for what is not there, cannot be read or is no regular file (a FIFO would block)."""
    try:
        with open(path, "rb", opener=_open_regular) as stream:
            return stream.read()
    except (OSError, ValueError):
        return None


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

    def __init__(self, settings: Settings, root: str = "") -> None:
        self._settings = settings
        self._root = root
        self._project = Project(read)

    def file(self, path: str, *, named: bool) -> Result:
        """Lint one file from disk."""
        raw = read(path)
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
        suppressions, whole = suppress.comments(decoded.text)
        if whole:
            return Result(path, ())
        findings: list[Finding] = []
        if named or source.matters(raw):
            absolute = os.path.normpath(Path.cwd() / path)
            module = modules.build(absolute, self._project.package(absolute)[1], decoded.text, tree)
            self._project.adopt(module)
            findings = self._check(module, path)
        findings = suppress.apply(findings, suppressions, path, self._settings.codes)
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
                    found.setdefault(key, _shown_as(finding, module.path, path))
        if facts.analysis.too_deep:
            deep = source.Unreadable("nested too deeply to analyse in full")
            found[("deep",)] = _unreadable(path, deep)
        return list(found.values())

    def _result(self, path: str, findings: list[Finding], text: str, cells: tuple[tuple[int, int], ...]) -> Result:
        known = registry.names()
        relative = os.path.relpath(path, self._root) if self._root else path
        silenced = ignored_here(self._settings, relative, known)
        kept = [f for f in findings if f.code in self._settings.codes and f.code not in silenced]
        ordered = tuple(sorted(kept, key=_order))
        return Result(path, ordered, text if ordered else "", cells)


def _order(finding: Finding) -> tuple[str, int, int, str]:
    return (finding.file, finding.line, finding.column, finding.code)


def _shown_as(finding: Finding, absolute: str, path: str) -> Finding:
    """The finding with paths as the user wrote them."""
    from dataclasses import replace

    here = str(Path.cwd())
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
    if jobs > 1:
        # a look at the bytes is far cheaper than handing a file to another process
        if len(candidates) > FEW:
            results = _parallel(candidates, settings, jobs, root)
        else:
            results = _serial(candidates, settings, root)
    else:
        results = _serial(candidates, settings, root)
    findings = tuple(f for r in results for f in r.findings)
    return Report(findings, {r.path: r.text for r in results if r.text}, len(candidates))


def _serial(candidates: list[tuple[str, bool]], settings: Settings, root: str) -> list[Result]:
    linter = Linter(settings, root)
    return [linter.file(path, named=named) for path, named in candidates]


def _parallel(candidates: list[tuple[str, bool]], settings: Settings, jobs: int, root: str) -> list[Result]:
    batches = [candidates[i : i + BATCH] for i in range(0, len(candidates), BATCH)]
    with ProcessPoolExecutor(min(jobs, len(batches)), initializer=_start, initargs=(settings, root)) as pool:
        return [result for results in pool.map(_batch, batches) for result in results]


_LINTERS: list[Linter] = []


def _start(settings: Settings, root: str) -> None:
    _LINTERS.append(Linter(settings, root))


def _batch(candidates: list[tuple[str, bool]]) -> list[Result]:
    return [r for path, named in candidates if (r := _LINTERS[0].file(path, named=named)).findings]
