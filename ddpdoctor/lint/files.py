"""Impure: reads files. The files of a run, and which of them can matter at all, as a look at their bytes tells."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from ddpdoctor.errors import InputError
from ddpdoctor.lint import shares, source
from ddpdoctor.lint.settings import Settings, matches

#: files whose bytes one process looks at for less than several do
LOOKS = 500

#: a path, and whether it was named itself rather than found in a folder
Candidate = tuple[str, bool]
#: the same with its size in bytes
Sized = tuple[str, bool, int]


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


def mattering(candidates: list[Candidate], jobs: int) -> list[Sized]:
    """Those of the files that a rule could say something about: most matter to none, and their bytes tell.

    A script that starts such a file matters as well: only there all that it brings together is seen.
    """
    if jobs < 2 or len(candidates) < LOOKS:
        seen = [_look(candidates)]
    else:
        step = -(-len(candidates) // jobs)
        looks = [candidates[i : i + step] for i in range(0, len(candidates), step)]
        found: dict[Candidate, list[_Look]] = {}
        for look, part in shares.each(lambda: _look, [[look] for look in looks], jobs):
            # a look that was killed is taken here
            found[look[0]] = _look(look) if isinstance(part, shares.Lost) else part
        seen = [found[look[0]] for look in looks]
    return _with_scripts([look for part in seen for look in part])


#: a file of the run, and the modules that it imports where it matters for those alone
_Look = tuple[Sized, tuple[str, ...]]


def _look(candidates: list[Candidate]) -> list[_Look]:
    found: list[_Look] = []
    for path, named in candidates:
        raw = read_file(path)
        if named or (raw is not None and source.matters(raw)):
            found.append(((path, named, len(raw or b"")), ()))
        elif raw is not None and source.STARTS in raw:
            imports = source.imported(raw)
            if imports:
                found.append(((path, True, len(raw)), imports))
    return found


def _with_scripts(looks: list[_Look]) -> list[Sized]:
    """The files that matter themselves, and the scripts that import one of them."""
    matter = {posixpath.splitext(path)[0] for (path, _, _), imports in looks if not imports}
    return [sized for sized, imports in looks if not imports or _uses(sized[0], imports, matter)]


def _uses(path: str, imports: tuple[str, ...], matter: set[str]) -> bool:
    """A module that the script imports, from its own folder or one around it, is one of those that matter."""
    folder = posixpath.dirname(path)
    while True:
        prefix = f"{folder}/" if folder and folder != "/" else folder
        if any(f"{prefix}{name}" in matter or f"{prefix}{name}/__init__" in matter for name in imports):
            return True
        above = posixpath.dirname(folder)
        if above == folder:
            return False
        folder = above
