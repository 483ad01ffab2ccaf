"""The linter: the findings of one file, with parsed files of its project cached for the next. Impure: reads files."""

from __future__ import annotations

import ast
import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from ddpdoctor.lint import files, own_rules, registry, screening, suppress, taint_comments
from ddpdoctor.lint.cache import Cache, Entry
from ddpdoctor.lint.deferred import open_findings
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.file_result import NOTEBOOK, FileResult, decode, in_order, texts_of
from ddpdoctor.lint.files import is_file, read_file
from ddpdoctor.lint.grounds import Grounds, digest
from ddpdoctor.lint.knowledge import heuristics, packages
from ddpdoctor.lint.settings import Settings, ignored_here
from ddpdoctor.model.finding import Finding, Related, RelatedRole, Severity
from ddpdoctor.model.record import replace
from ddpdoctor.program import indexing, modules, source
from ddpdoctor.program.project import Project

#: Characters of source after which a linting process collects what still refers to itself. That is little: files that
#: are not kept and what was simulated are taken apart (`indexing.release`, `Analysis.release`).
GARBAGE = 12_000_000

#: gives the bytes of a file of the project, None if it does not exist
Read = Callable[[str], "bytes | None"]


class Linter:
    """Lints files one by one and caches parsed files of the project."""

    def __init__(
        self, settings: Settings, root: str = "", *, read: Read | None = None, cache: Cache | None = None
    ) -> None:
        """`read` gives the bytes of a file of the project, None if it does not exist; by default it reads the disk.

        `cache` keeps what is found in files that are read from the disk.
        """
        self._cache = cache if read is None else None
        #: of each file of the project that was read, as it was then
        self._digests: dict[str, str] = {}
        self._adopted = False
        self._settings = settings
        self._root = root
        self._here = str(Path.cwd())
        #: characters linted since the last garbage collection
        self._since = 0
        self._project = Project(read) if read is not None else Project(self._read, is_file)

    def file(self, path: str, *, named: bool) -> FileResult:
        """Lint one file from disk."""
        raw = read_file(path)
        if raw is None:
            why = source.Unreadable(f"cannot be read: {files.why_unreadable(path)}")
            return self._result(path, [unreadable(path, why)] if named else [])
        self._adopted = False
        result = self.bytes(path, raw, named=named)
        if self._cache is not None:
            self._cache.store(
                path, raw, Entry(result.findings, result.unsure, result.hints), self._grounds(), named=named
            )
        return result

    def _read(self, path: str) -> bytes | None:
        raw = read_file(path)
        if self._cache is not None:
            self._digests[path] = digest(raw)
        return raw

    def _grounds(self) -> Grounds:
        """What the findings of the last file rest on besides that file."""
        if not self._adopted:
            return Grounds()
        consulted, there = self._project.grounds()
        return Grounds({path: self._digests[path] for path in consulted}, there)

    def bytes(self, path: str, raw: bytes, *, named: bool) -> FileResult:
        """Lint a file's contents; one that the user `named` is analysed in full even if it mentions no training."""
        if not named and not screening.matters(raw):
            return FileResult(path, ())
        if len(raw) > source.LARGEST:
            too_large = source.Unreadable(f"too large to analyse: over {source.LARGEST // 1_000_000} MB of source")
            return self._result(path, [unreadable(path, too_large)])
        decoded = decode(path, raw)
        if isinstance(decoded, source.Unreadable):
            return self._result(path, [unreadable(path, decoded)])
        absolute = os.path.normpath(f"{self._here}/{path}") if not path.startswith("/") else path
        module = self._parsed(absolute, decoded.text)
        if isinstance(module, source.Unreadable):
            unread = unreadable(path, module, decoded.text)
            return self._result(path, [unread if named else open_findings.if_used(unread)], decoded)
        said = taint_comments.of(module)
        if suppress.whole_file(said.comments):
            return FileResult(path, ())
        self._project.adopt(module)
        self._adopted = True
        self._digests[absolute] = digest(raw) if self._cache is not None else ""
        self._collect_garbage(len(decoded.text))
        findings = [*self._check(module, path), *taint_comments.findings(said.faults, path)]
        # a cell may be for IPython alone, or have been put aside
        cells = (unreadable(path, fault) for fault in decoded.faults)
        findings += [cell if named else replace(cell, severity=Severity.HINT) for cell in cells]
        if findings or said.comments:
            comments = suppress.read(said.comments) if said.comments else suppress.in_text(decoded.text)
            findings = suppress.apply(findings, comments, path, self._settings.codes, registry.names())
        return self._result(path, findings, decoded)

    def _parsed(self, path: str, text: str) -> modules.Module | source.Unreadable:
        name = self._project.package(path)[1]
        module = self._project.parsed(path, name, text)
        if module is not None:
            return module
        tree = source.parse(text)
        return tree if isinstance(tree, source.Unreadable) else indexing.build(path, name, text, tree)

    def _collect_garbage(self, size: int) -> None:
        self._since += size
        if self._since > GARBAGE:
            self._since = 0
            gc.collect()

    def _check(self, module: modules.Module, path: str) -> list[Finding]:
        from ddpdoctor.lint.facts import launch  # what is in the cache is told without it

        facts = ModuleFacts.of(module, self._project, self._settings.torch_version)
        found: dict[tuple[object, ...], Finding] = {}
        alone = launch.says_alone(facts)
        for entry in self._rules(module):
            for finding in entry.check(facts):
                if finding is not None:
                    key = (finding.code, *_where(finding))
                    told = _as_run(module, finding) if path.endswith(NOTEBOOK) else finding
                    told = _as_one(told) if alone else told
                    found.setdefault(key, _shown_as(told, module.path, path, self._here))
        if facts.analysis.too_deep:
            deep = source.Unreadable("nested too deeply to analyse in full")
            found[("deep",)] = unreadable(path, deep)
        facts.analysis.release()
        return list(found.values())

    def _rules(self, module: modules.Module) -> Iterator[registry.Registered]:
        """The rules that may have a finding about the present file, once it is simulated: of those that are chosen, in
        their order. The others are not even imported."""
        codes = frozenset[str]().union(*map(_concerned, self._project.followed()))
        for code in registry.RULES:
            if code in codes and code in self._settings.codes:
                entry = registry.entry(code)
                if not entry.rule.words or entry.rule.words & module.words:
                    yield entry

    def _result(self, path: str, findings: list[Finding], decoded: source.DecodedSource | None = None) -> FileResult:
        known = registry.names()
        relative = os.path.relpath(path, self._root) if self._root else path
        silenced = ignored_here(self._settings, relative, known)
        findings = [f for f in findings if f.code in self._settings.codes and f.code not in silenced]
        open_ = tuple(f for f in findings if open_findings.unsure(f))
        dropped = {f for f in open_ if not open_findings.stays(f)}
        shown = (f for f in findings if self._settings.shows(f) and f not in dropped)
        kept = sorted(map(open_findings.settled, shown), key=in_order)
        hints = sum(not self._settings.shows(f) for f in findings if f not in dropped)
        if decoded is None or not (kept or open_):
            return FileResult(path, tuple(kept), hints=hints)
        if not decoded.cells:
            return FileResult(path, tuple(kept), texts_of(path, decoded), open_, hints)
        return FileResult(path, tuple(_in_cell(f, decoded.cells) for f in kept), texts_of(path, decoded), hints=hints)


@modules.once
def _concerned(module: modules.Module) -> frozenset[str]:
    """The codes of the rules to which the text of a file may matter."""
    return registry.concerned(module.text.encode(errors="replace"))


#: the package that runs a cell in several processes
_IN_ALL_ENGINES = "ipyparallel"


def _as_run(module: modules.Module, finding: Finding) -> Finding:
    """The finding of a notebook; a hint in a function that no cell calls: no other file can; and in a cell itself,
    which one process runs, where it needs several to do harm."""
    for node in module.tree.body:
        inside = node.lineno <= finding.line <= (node.end_lineno or node.lineno)
        if inside and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(name.id == node.name for name in module.of(ast.Name)):
                return finding
            return _lowered(finding, node.lineno, "no cell calls this function")
        if inside and not isinstance(node, ast.ClassDef) and finding.code in open_findings.OF_SEVERAL_RANKS:
            if _IN_ALL_ENGINES in module.words:
                return finding
            return _lowered(finding, node.lineno, "a cell runs in one process, the notebook's own")
    return finding


#: what is said first of a program that says that it is one process
_IF_SEVERAL = "if it is ever started as several ranks, "


def _as_one(finding: Finding) -> Finding:
    """The finding of a program of one process: a hint, where it needs several to do harm."""
    if not open_findings.depends_on_the_start(finding):
        return finding
    message = _IF_SEVERAL + finding.message.removeprefix(finding.condition)
    return replace(finding, severity=Severity.HINT, message=message, condition=_IF_SEVERAL)


def _lowered(finding: Finding, line: int, why: str) -> Finding:
    related = (*finding.related, Related(finding.file, line, why))
    return replace(finding, severity=Severity.HINT, related=related)


def _shown_as(finding: Finding, absolute: str, path: str, here: str) -> Finding:
    """The finding with paths as the user wrote them."""
    related = tuple(
        replace(r, file=path if r.file == absolute else os.path.relpath(r.file, here)) for r in finding.related
    )
    return replace(finding, file=path, related=related)


def _in_cell(finding: Finding, cells: tuple[tuple[int, int], ...]) -> Finding:
    """The finding with line numbers of its cell. Without its fix: notebooks are edited in their own editor."""

    def place(line: int) -> tuple[int, int]:
        return cells[min(line, len(cells)) - 1]

    cell, line = place(finding.line)
    last, end = place(finding.end_line)
    related = [
        replace(r, line=place(r.line)[1], cell=place(r.line)[0]) if r.file == finding.file else r
        for r in finding.related
    ]
    return replace(
        finding, line=line, end_line=end if last == cell else line, cell=cell, related=tuple(related), fix=None
    )


#: the parser that lint has: what is valid in one Python may not be in another
_PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"


def unreadable(path: str, problem: source.Unreadable, text: str = "") -> Finding:
    """The finding of a file, or a part of it, of which nothing is known; a hint where nobody runs it as it is, or where
    nothing newer than Python 3.6 could."""
    rule = own_rules.UNREADABLE
    name = "/".join(path.split("/")[-2:])
    aside = heuristics.NOT_RUN.found_in(name) or any(f"from {gone} import" in text for gone in packages.FOR_PYTHON_3_6)
    aside = aside and problem.message.startswith("does not parse")
    message = problem.message.replace("does not parse:", f"does not parse with {_PYTHON}:", 1)
    return Finding(
        rule.code, rule.name, Severity.HINT if aside else rule.severity,
        path, problem.line, problem.column, problem.line, problem.column, message, advice=rule.advice,
    )  # fmt: skip


def _where(finding: Finding) -> tuple[object, ...]:
    """The identity of a finding of a rule: the line in another file that it is about, else its own position."""
    meant = next((r for r in finding.related if r.role is RelatedRole.MEANT), None)
    return (finding.line, finding.column) if meant is None else (meant.file, meant.line)
