"""The job's own source files: those that stacks and histories name, and what of the project these import.

They are for code frames and for the rules; what a condition depends on is often decided in a file that no stack shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath

from ddpdoctor.model.evidence import Evidence, SourceFile
from ddpdoctor.model.progress import Page
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import libraries
from ddpdoctor.program.imports import imported
from ddpdoctor.program.libraries import Kind
from ddpdoctor.program.project import Project

MOST_FILES = 64
#: of libraries, so that there is room for what the job's own files import
MOST_LIBRARY_FILES = 32
MOST_BYTES = 512 * 1024
#: of all files together that are read because others import them
MOST_IMPORTED = 1024 * 1024


def sites(evidence: Evidence) -> Iterator[Site]:
    """Every place that the evidence names: stacks, calls, history, loaders, exceptions."""
    for rank in evidence.ranks:
        for stacks in (rank.stacks, *(child.stacks for child in rank.children)):
            for thread in stacks.threads if stacks else ():
                yield from thread.frames
        yield from rank.raised.frames if rank.raised else ()
        if rank.page is not None:
            yield from _sites_of_page(rank.page)


def _sites_of_page(page: Page) -> Iterator[Site]:
    yield from (loader.site for loader in page.counters.loaders)
    yield from (call.site for call in page.calls if call.site)
    yield from (event.site for event in page.events if event.site)
    # newest first: of the paths, those near the end matter
    for path in dict.fromkeys(event.path for event in reversed(page.events)):
        yield from path
    raised = [*page.pending, *([page.ending.raised] if page.ending else [])]
    yield from (frame for exception in raised if exception for frame in exception.frames)


def read(places: Iterable[Site], *, started: float, root: str = "") -> dict[str, SourceFile]:
    """Read the files of these places, the job's own first. `started`: seconds since the epoch; a file that was modified
    later is marked as changed. `root`: the folder under which the job sees them, where that is not ours."""
    found: dict[str, SourceFile] = {}
    names = dict.fromkeys(place.file for place in places)
    project = {name for name in names if libraries.origin(name).kind is Kind.PROJECT}
    others = [name for name in names if name not in project]
    # an installed trainer has no files of a project, and then all of them may be its own
    for name in (*(name for name in names if name in project), *others[: MOST_LIBRARY_FILES if project else None]):
        if len(found) >= MOST_FILES:
            break
        source = _read_one(name, started, root) if _is_wanted(name) else None
        if source is not None:
            found[name] = source
    return found


def imported_by(named: Mapping[str, SourceFile], *, started: float, root: str = "") -> dict[str, SourceFile]:
    """The project's files that these import, and those import, nearest first; none that was written since `started`."""
    project = Project(lambda _: None, lambda path: Path(f"{root}{path}").is_file())
    found: dict[str, SourceFile] = {}
    left = MOST_IMPORTED
    todo = [source for name, source in named.items() if PurePath(name).is_absolute() and _is_own(name)]
    for source in todo:  # grows while it is gone through
        for path in _targets(project, source):
            if path in named or path in found or not _is_own(path) or len(named) + len(found) >= MOST_FILES:
                continue
            other = _read_one(path, started, root)
            if other is not None and not other.changed and len(other.text) <= left:
                left -= len(other.text)
                found[path] = other
                todo.append(other)
    return found


def _targets(project: Project, source: SourceFile) -> Iterator[str]:
    """Files of what the file imports: a module, or the module that a name is imported from."""
    name = project.package(source.path)[1]
    for target in imported(source.text, name, package=source.path.endswith("__init__.py")):
        path = project.where(target, source.path) or project.where(target.rpartition(".")[0], source.path)
        yield from filter(None, (path,))


def _is_own(file: str) -> bool:
    return libraries.origin(file).kind in (Kind.PROJECT, Kind.INSTALLED)


def _is_wanted(file: str) -> bool:
    """Whether a place is in a file that is not of the standard library, torch or the probe."""
    kind, package = libraries.origin(file)
    known = kind is Kind.STANDARD_LIBRARY or (kind is Kind.LIBRARY and package in ("torch", "ddpdoctor"))
    return not known and not file.startswith("<")


def _read_one(name: str, started: float, root: str) -> SourceFile | None:
    path = Path(root + name)
    try:
        status = path.stat()
        if status.st_size > MOST_BYTES:
            return None
        text = path.read_text(errors="replace")
    except (OSError, ValueError):
        return None
    return SourceFile(str(Path(name)), text, changed=status.st_mtime > started)
