"""Whether the texts of a repository have people fetch a file before they start a program. Impure: reads files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ddpdoctor.lint.deferred import launch_scripts
from ddpdoctor.lint.deferred.confirmation import Confirmation, places_of
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.files import read_file
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.late_pattern import late_pattern

#: a command that fetches something, in a comment or not
_FETCHING = late_pattern(rb"^([^\n]*?)\b(?:wget|curl|aria2c|gdown)\b([^\n]*)", re.MULTILINE)
#: the name of a file at an address
_NAMED = late_pattern(rb"https?://[^\s\"'<>()\[\]]*/([\w.+-]+\.\w+)")


def fetched_before(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether a command in a text or script fetches a file that all ranks would fetch where it is missing; not where
    others of such files are in commands that the texts leave to their readers, as comments."""
    if finding.code != "DD124" or finding.severity is Severity.HINT:
        return None
    names = {name for file, _ in places_of(finding) for name in _names_in(file)}
    fetched = {name: aside for name, aside in _fetched(repository) if name in names} if names else {}
    if not fetched or any(fetched.values()):
        return None
    said = f"a text or script has {os.fsdecode(min(fetched))} fetched first"
    return Confirmation(said, Severity.HINT, condition="if it was not fetched before, ")


def _names_in(file: str) -> list[bytes]:
    """The files at addresses that stand in a program."""
    return _NAMED.findall(read_file(os.path.abspath(file)) or b"")  # noqa: PTH100 - as in path_of


def _fetched(repository: Repository) -> Iterator[tuple[bytes, bool]]:
    """Each file that a command fetches, and whether that is a comment."""
    for text in repository.launches.scripts.values():
        for before, command in _FETCHING.findall(launch_scripts.joined(text)):
            yield from ((name, b"#" in before) for name in _NAMED.findall(command))
