"""Deferred findings: those that depend on other files of the project, decided by reading them. Impure: reads files.

A factory creates a sampler and returns it; whether its epoch is set is decided in the files that use the factory. Some
of these cannot be followed: a registry, a name from a configuration, a script that is not linted. If no file of the
project even mentions what would make the code right, the finding is reported.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ddpdoctor.lint.files import is_file, read_file
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.knowledge.packages import Does, that
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program import libraries

_NOBODY = "no file of the project does this"
#: most files of a project: beyond that, not all of them can be searched
MOST = 300
#: something sets a sampler's epoch: the program, or a framework
_TELLS = re.compile(rf"set_epoch|(?:from|import)\s+(?:{'|'.join(that(Does.EPOCHS))})\b".encode())
_AROUND = frozenset({*libraries.FOLDERS, "node_modules", "build", "dist"})


def confirmed(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The deferred findings that the other files of their projects confirm, as warnings."""
    projects: dict[str, bool] = {}
    for finding in findings:
        top = _top(os.path.abspath(finding.file))  # noqa: PTH100 - as the folders that are climbed out of
        if top not in projects:
            projects[top] = _confirms(top)
        if projects[top]:
            notes = tuple(
                replace(r, message=_NOBODY) if r.role is RelatedRole.UNCONFIRMED else r for r in finding.related
            )
            yield replace(finding, severity=Severity.WARNING, related=notes)


def unsure(finding: Finding) -> bool:
    return any(note.role is RelatedRole.UNCONFIRMED for note in finding.related)


def _top(path: str) -> str:
    """The folder of the project: the one that contains the outermost package, or the file itself."""
    folder = posixpath.dirname(path)
    top = folder
    while is_file(f"{top}/__init__.py"):
        folder, top = top, posixpath.dirname(top)
    return folder if posixpath.basename(top) in _AROUND else top


def _confirms(top: str) -> bool:
    """Whether the project iterates over epochs, nothing sets a sampler's epoch, and all files were searched."""
    epochs = False
    for seen, path in enumerate(_files(top)):
        raw = read_file(path) if seen < MOST else None
        if raw is None or _TELLS.search(raw):
            return False
        epochs = epochs or heuristics.EPOCH_LOOPS.found_in(raw.decode(errors="replace"))
    return epochs


def _files(top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _AROUND and not is_file(
            f"{folder}/{f}/pyvenv.cfg"))  # fmt: skip
        yield from (f"{folder}/{name}" for name in sorted(names) if name.endswith((".py", ".ipynb")))
