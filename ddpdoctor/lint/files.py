"""The files of a run, and which of them can matter at all, judged by their bytes. Impure: reads files."""

from __future__ import annotations

import itertools
import os
import posixpath
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ddpdoctor import workers
from ddpdoctor.errors import InputError
from ddpdoctor.lint import screening
from ddpdoctor.lint.grounds import Grounds, Listing, digest
from ddpdoctor.lint.knowledge.packages import NEVER_LOCAL
from ddpdoctor.lint.settings import Settings, matches
from ddpdoctor.program import libraries, source

#: files that one process screens faster than several do
LOOKS = 500

#: a path, and whether the user named it rather than its folder
Candidate = tuple[str, bool]
#: the same with its size in bytes
Sized = tuple[str, bool, int]


def read_file(path: str) -> bytes | None:
    """A file's bytes; None if it does not exist, cannot be read or is not a regular file (a FIFO would block).

    Of a file that is too large to be analysed, only enough bytes to show that.
    """
    try:
        with open(path, "rb", opener=_open_regular) as stream:
            raw = stream.read(source.LARGEST + 1)
    except (OSError, ValueError):
        raw = None
    for grounds in _observing:
        if path not in grounds.files:
            grounds.files[path] = digest(raw)
    return raw


def is_file(path: str) -> bool:
    """Whether a regular file exists, from one `stat`."""
    try:
        found = stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - many a second
    except (OSError, ValueError):
        found = False
    for grounds in _observing:
        grounds.there.setdefault(path, found)
    return found


def listed(listing: Listing) -> list[str]:
    """The files of a listing, in the order of a walk; none of a folder that cannot be listed.

    Hidden folders and those of other people's code, as environments are, are left out.
    """
    paths = list(itertools.islice(_below(listing.top, listing.endings), listing.most))
    for grounds in _observing:
        grounds.listed.setdefault(listing, digest_of(paths))
    return paths


def names_in(folder: str) -> list[str]:
    """The names of what a folder holds, sorted; none if it cannot be listed."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names alone
    except OSError:
        names = []
    for grounds in _observing:
        grounds.names.setdefault(folder, digest_of(names))
    return names


def digest_of(paths: list[str]) -> str:
    """A digest of paths or names, in their order."""
    return digest(os.fsencode("\0".join(paths)))


#: folders in a project that are none of its own
AROUND = frozenset({*libraries.FOLDERS, "node_modules", "build", "dist"})


def _below(top: str, endings: tuple[str, ...]) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in AROUND and not _is_environment(
            f"{folder}/{f}"))  # fmt: skip
        yield from (f"{folder}/{name}" for name in sorted(names) if name.endswith(endings))


def _is_environment(folder: str) -> bool:
    return os.path.isfile(f"{folder}/pyvenv.cfg")  # noqa: PTH113 - as above


#: where it is kept what is asked of the disk
_observing: list[Grounds] = []


@contextmanager
def observed() -> Iterator[Grounds]:
    """Keep what is read, looked for and listed meanwhile: that is what the result rests on."""
    grounds = Grounds()
    _observing.append(grounds)
    try:
        yield grounds
    finally:
        _observing.pop()


def _open_regular(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a regular file")
    return descriptor


def why_unreadable(path: str) -> str:
    """Why `read_file` returned None, or a folder could not be listed."""
    try:
        if Path(path).is_dir():
            os.listdir(path)  # noqa: PTH208 - for its error
        elif is_file(path):
            os.close(_open_regular(path, os.O_RDONLY))
        elif Path(path).is_symlink():
            return "a broken link"
        return "not a regular file"
    except OSError as error:
        return (error.strerror or str(error)).lower()


def discover(paths: Iterable[str], settings: Settings) -> Iterator[Candidate]:
    """(file, whether the user named it), each once, sorted within each folder. Links to folders are not followed.

    Raises InputError for a path that does not exist.
    """
    given = [_checked(path) for path in paths]
    excluded = _exclusion(settings)
    named = {os.path.abspath(path) for path in given if not os.path.isdir(path)}  # noqa: PTH100, PTH112 - of every file
    seen: set[str] = set()
    for path in given:
        for candidate in _folder(path, excluded) if os.path.isdir(path) else [(path, True)]:  # noqa: PTH112
            file = candidate[0]
            absolute = os.path.abspath(file)  # noqa: PTH100
            if absolute not in seen and not (settings.force_exclude and any(map(excluded, _above(file)))):
                seen.add(absolute)
                yield (file, True) if absolute in named else candidate


def _checked(given: str) -> str:
    """The normalised path. Raises InputError for one that does not exist."""
    path = os.path.normpath(given)
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        missing = isinstance(error, FileNotFoundError)
        shown = given if given.isprintable() else repr(given)
        raise InputError(f"{shown}: {'no such file or folder' if missing else why.lower()}") from None
    if not given:
        raise InputError("an empty path: no such file or folder")
    return path


def _folder(root: str, excluded: Callable[[str], bool]) -> Iterator[Candidate]:
    refused: list[str] = []
    for folder, folders, files in os.walk(root, onerror=lambda error: refused.append(str(error.filename))):
        folders[:] = sorted(d for d in folders if not excluded(f"{folder}/{d}"))
        for name in sorted(files):
            path = os.path.normpath(f"{folder}/{name}")
            if name.endswith((".py", ".pyw", ".ipynb")) and not excluded(path):
                yield path, False
    # a folder that could not be listed is one finding: its content is unknown
    yield from ((os.path.normpath(path), True) for path in refused)


def _exclusion(settings: Settings) -> Callable[[str], bool]:
    """A predicate that tells whether a file or folder is excluded, by its name or by a pattern on its path."""
    wanted = [pattern.removeprefix("./").rstrip("/") for pattern in settings.exclude]
    patterns = [pattern for pattern in wanted if any(c in pattern for c in "/*?[")]
    names = frozenset(wanted).difference(patterns)

    def excluded(path: str) -> bool:
        return path.rpartition("/")[2] in names or any(matches(path, pattern) for pattern in patterns)

    return excluded


def _above(path: str) -> Iterator[str]:
    """The path and its parent folders, as given."""
    while path not in ("", "/"):
        yield path
        path = path.rpartition("/")[0]


def mattering(candidates: list[Candidate], jobs: int) -> list[Sized]:
    """The files that a rule could report something about: most can be excluded by their bytes.

    A script that starts such a file counts as well, because only its analysis combines the files.
    """
    if jobs < 2 or len(candidates) < LOOKS:
        seen = [_look(candidates)]
    else:
        step = -(-len(candidates) // jobs)
        looks = [candidates[i : i + step] for i in range(0, len(candidates), step)]
        found: dict[Candidate, list[_Look]] = {}
        for look, part, _ in workers.each(lambda: _look, [[look] for look in looks], jobs):
            # a file whose screening process was killed is screened here
            found[look[0]] = _look(look) if isinstance(part, workers.Lost) else part
        seen = [found[look[0]] for look in looks]
    return _with_scripts([look for part in seen for look in part])


#: a file of the run, and the modules that it imports if it matters only because of them
_Look = tuple[Sized, tuple[str, ...]]


def _look(candidates: list[Candidate]) -> list[_Look]:
    found: list[_Look] = []
    for path, named in candidates:
        raw = read_file(path)
        if raw is None and not named and is_file(path):
            named = True  # an unreadable file is reported, because nothing is known about it
        if named or (raw is not None and screening.matters(raw)):
            found.append(((path, named, len(raw or b"")), ()))
        elif raw is not None and screening.STARTS in raw:
            imports = tuple(i for i in screening.imported(raw) if i.partition("/")[0] not in NEVER_LOCAL)
            if imports:
                found.append(((path, True, len(raw)), imports))
    return found


def _with_scripts(looks: list[_Look]) -> list[Sized]:
    """The files that matter themselves, and the scripts that import one of them."""
    matter = {posixpath.splitext(path)[0] for (path, _, _), imports in looks if not imports}
    return [sized for sized, imports in looks if not imports or _uses(sized[0], imports, matter)]


def _uses(path: str, imports: tuple[str, ...], matter: set[str]) -> bool:
    """Whether the script imports, from its own folder or one above it, a module that matters."""
    folder = posixpath.dirname(path)
    while True:
        prefix = f"{folder}/" if folder and folder != "/" else folder
        if any(f"{prefix}{name}" in matter or f"{prefix}{name}/__init__" in matter for name in imports):
            return True
        above = posixpath.dirname(folder)
        if above == folder:
            return False
        folder = above
