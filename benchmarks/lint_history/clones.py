"""Clones of the repositories in a folder: where each is, and trees of their commits. Impure: reads disk, runs git."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path, PurePosixPath

#: seconds that git may take for one tree
GIT_LIMIT = 120


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
    """Write the Python files of a commit into a folder. Raises CloneError."""
    archive = _git(clone, "archive", "--format=tar", commit, "--", ":(glob)**/*.py")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            source = tar.extractfile(member) if member.isfile() else None  # links are left out
            if source is None or path.is_absolute() or ".." in path.parts:
                continue
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes(source.read())


def text(clone: Path, commit: str, path: str) -> str:
    """A file's text in a commit. Raises CloneError if the commit has no such file."""
    return _git(clone, "show", f"{commit}:{path}").decode("utf-8", "replace")


def _git(clone: Path, *arguments: str) -> bytes:
    try:
        run = subprocess.run(
            ["git", f"--git-dir={clone}", *arguments], cwd=clone, capture_output=True, timeout=GIT_LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CloneError(f"git {arguments[0]}: {error}") from error
    if run.returncode:
        told = run.stderr.decode(errors="replace").strip().splitlines()
        raise CloneError(f"git {arguments[0]}: {told[-1] if told else f'exit status {run.returncode}'}")
    return run.stdout
