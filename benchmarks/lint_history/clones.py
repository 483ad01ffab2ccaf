"""Clones of the repositories in a folder: where each is, and trees of their commits. Impure: reads disk, runs git."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ddpdoctor.lint.deferred.repository import LARGEST_SCRIPT, SCRIPTS, SETTINGS

#: seconds that git may take for one tree
GIT_LIMIT = 120
#: git's mode of a symbolic link
_LINK = b"120000"


class CloneError(Exception):
    """What git could not give, in one line."""


def find(folder: Path, repository: str) -> Path | None:
    """The git directory of a repository in the folder, None if it is not there.

    A clone is called `owner+name` or `owner/name` (also with `.git` at its end), and is a work tree, a bare
    repository, or a folder that contains one called `repo`.
    """
    owner, name = repository.split("/")
    for place in (f"{owner}+{name}", f"{owner}/{name}", f"{owner}+{name}.git", f"{owner}/{name}.git"):
        for inside in ("", ".git", "repo", "repo/.git"):
            if _is_git_directory(folder / place / inside):
                return folder / place / inside
    return None


def _is_git_directory(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir()


def extract(clone: Path, commit: str, target: Path) -> None:
    """Write what lint may read of a commit into a folder: programs, scripts, texts and settings. Raises CloneError."""
    wanted = list(_wanted(_git(clone, "ls-tree", "-r", "-l", "-z", commit)))
    contents = _git(clone, "cat-file", "--batch", given="".join(f"{blob}\n" for _, blob, _ in wanted).encode())
    at = 0
    for path, _, size in wanted:
        begin = contents.index(b"\n", at) + 1
        at = begin + size + 1
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(contents[begin : begin + size])


def _wanted(listed: bytes) -> Iterator[tuple[PurePosixPath, str, int]]:
    """(path, blob, bytes) of the files of a tree that lint may read, without links."""
    for row in filter(None, listed.split(b"\0")):
        told, _, name = row.partition(b"\t")
        mode, kind, blob, size = told.split()
        path = PurePosixPath(name.decode("utf-8", "surrogateescape"))
        # of what a partial clone lacks, git does not know the size
        if kind != b"blob" or mode == _LINK or not size.isdigit() or path.is_absolute() or ".." in path.parts:
            continue
        if path.suffix == ".py" or (path.name.endswith((*SCRIPTS, *SETTINGS)) and int(size) <= LARGEST_SCRIPT):
            yield path, blob.decode(), int(size)


def text(clone: Path, commit: str, path: str) -> str:
    """A file's text in a commit. Raises CloneError if the commit has no such file."""
    return _git(clone, "show", f"{commit}:{path}").decode("utf-8", "replace")


def _git(clone: Path, *arguments: str, given: bytes = b"") -> bytes:
    try:
        run = subprocess.run(
            ["git", f"--git-dir={clone}", *arguments],
            cwd=clone, input=given, capture_output=True, timeout=GIT_LIMIT, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CloneError(f"git {arguments[0]}: {error}") from error
    if run.returncode:
        told = run.stderr.decode(errors="replace").strip().splitlines()
        raise CloneError(f"git {arguments[0]}: {told[-1] if told else f'exit status {run.returncode}'}")
    return run.stdout
