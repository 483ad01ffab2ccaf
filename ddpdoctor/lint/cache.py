"""The cache of lint: what was found in a file, and all that this rests on. Impure: reads and writes files.

An entry belongs to one file under certain settings. It holds the digest of the file, the digests of the files of the
project that its analysis read, and every path at which it looked for one, with the answer. An entry counts only while
all of them are as they were, so a module that is edited, added, removed or renamed ends the entries that depend on it.
What the rest of a project says of its findings is an entry of the project, which counts as long.

Entries are separate files, each replaced as a whole: runs side by side can at worst do the same work twice. Nothing in
them is executed, and one that cannot be read is no entry.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import ddpdoctor
from ddpdoctor.lint.files import digest_of, is_file, listed, names_in, read_file
from ddpdoctor.lint.grounds import Grounds, Listing, digest
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model import codec
from ddpdoctor.model.finding import Finding
from ddpdoctor.model.record import record

#: days after which an entry that was not written again is removed
KEPT_DAYS = 30
_DAY = 86_400.0
#: folders of the package whose code decides what is found
CODE = ("lint", "lint/deferred", "lint/facts", "lint/interpreter", "lint/knowledge", "lint/ranks", "lint/rules",
        "lint/values", "model", "program")  # fmt: skip


@record(frozen=True, slots=True)
class Entry:
    """What is known of a file: its findings, those that other files have to confirm, and how many hints are not
    shown."""

    findings: tuple[Finding, ...]
    unsure: tuple[Finding, ...]
    hints: int = 0


class Cache:
    """The entries of one folder under one set of settings."""

    def __init__(self, folder: str, settings: Settings, root: str = "") -> None:
        self._folder = folder
        chosen = (sorted(settings.codes), sorted(settings.hints) if settings.hints is not None else None,
                  settings.torch_version, sorted(settings.per_file_ignores.items()))  # fmt: skip
        self._how = repr((chosen, root, str(Path.cwd())))
        #: answers that this run already has
        self._digests: dict[str, str] = {}
        self._there: dict[str, bool] = {}
        self._listed: dict[Listing, str] = {}
        self._names: dict[str, str] = {}

    def find(self, path: str, raw: bytes, *, named: bool) -> Entry | None:
        """The entry of a file with these contents; None if there is none, or something that it rests on has changed."""
        return self._find((os.path.abspath(path), path, named), digest(raw))  # noqa: PTH100 - of every file

    def store(self, path: str, raw: bytes, entry: Entry, grounds: Grounds, *, named: bool) -> None:
        """Keep an entry in place of an earlier one; a folder that cannot be written to keeps nothing."""
        self._store((os.path.abspath(path), path, named), digest(raw), entry, grounds)  # noqa: PTH100 - as above

    def told(self, top: str, asked: list[Finding], how: object) -> tuple[Finding, ...] | None:
        """What became of findings of the project in a folder; None if that is not known, or not any more; `how`: what
        else it depends on."""
        entry = self._find((top, self._asked(asked, how)))
        return entry.findings if entry is not None else None

    def store_told(
        self, top: str, asked: list[Finding], how: object, told: tuple[Finding, ...], grounds: Grounds
    ) -> None:
        """Keep what became of them."""
        self._store((top, self._asked(asked, how)), "", Entry(told, ()), grounds)

    @staticmethod
    def _asked(asked: list[Finding], how: object) -> str:
        return digest(repr((asked, how)).encode(errors="surrogatepass"))

    def _find(self, key: tuple[object, ...], content: str = "") -> Entry | None:
        try:
            data = Path(self._place(key)).read_bytes()
            entry = json.loads(zlib.decompress(data))
            if entry["content"] != content or not self._holds(entry):
                return None
            findings, unsure = (_decoded(entry[kind]) for kind in ("findings", "unsure"))
            return Entry(findings, unsure, int(entry["hints"]))
        except (OSError, zlib.error, ValueError, LookupError, TypeError, AttributeError):
            return None

    def _store(self, key: tuple[object, ...], content: str, entry: Entry, grounds: Grounds) -> None:
        there: dict[str, dict[str, int]] = {}
        for asked, answer in grounds.there.items():
            folder, _, name = asked.rpartition("/")
            there.setdefault(folder, {})[name] = int(answer)
        held = {
            "content": content, "files": grounds.files, "there": there,
            "listed": [(*listing, found) for listing, found in grounds.listed.items()], "names": grounds.names,
            "findings": codec.encode(entry.findings), "unsure": codec.encode(entry.unsure), "hints": entry.hints,
        }  # fmt: skip
        place = self._place(key)
        part = f"{place}.{os.getpid()}"
        with suppress(OSError, ValueError):
            Path(part).write_bytes(zlib.compress(json.dumps(held, separators=(",", ":")).encode(), 1))
            os.replace(part, place)  # noqa: PTH105 - many a second

    def _place(self, key: tuple[object, ...]) -> str:
        return f"{self._folder}/{digest(repr((*key, self._how)).encode(errors='surrogatepass'))}"

    def _holds(self, entry: Mapping[str, Any]) -> bool:
        there: Mapping[str, Mapping[str, int]] = entry["there"]
        for folder, names in there.items():
            for name, answer in names.items():
                if _asked_once(self._there, f"{folder}/{name}", is_file) != bool(answer):
                    return False
        if any(_asked_once(self._names, folder, _names_of) != known for folder, known in entry["names"].items()):
            return False
        for top, endings, most, known in entry["listed"]:
            if _asked_once(self._listed, Listing(top, tuple(endings), most), _paths_of) != known:
                return False
        return all(_asked_once(self._digests, path, _content_of) == known for path, known in entry["files"].items())


_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


def _asked_once(known: dict[_Asked, _Answer], asked: _Asked, ask: Callable[[_Asked], _Answer]) -> _Answer:
    """The answer that this run already has, or now gets."""
    if asked not in known:
        known[asked] = ask(asked)
    return known[asked]


def _content_of(path: str) -> str:
    return digest(read_file(path))


def _paths_of(listing: Listing) -> str:
    return digest_of(listed(listing))


def _names_of(folder: str) -> str:
    return digest_of(names_in(folder))


def opened(settings: Settings, root: str = "") -> Cache | None:
    """The user's cache; None if it cannot be used: its folder cannot be made, or belongs to somebody else."""
    try:
        base = f"{_users_folder()}/ddpdoctor"
        Path(base).mkdir(mode=0o700, parents=True, exist_ok=True)
        _private(base)
        folder = f"{base}/lint-{_version()}"
        Path(folder).mkdir(mode=0o700, exist_ok=True)
        _private(folder)
        _sweep(base, folder)
    except (OSError, RuntimeError):
        return None
    return Cache(folder, settings, root)


def _users_folder() -> str:
    given = os.environ.get("XDG_CACHE_HOME", "")
    # the specification: a relative path counts as none
    return given if given.startswith("/") else f"{Path.home()}/.cache"


def _private(folder: str) -> None:
    """Make the folder its owner's alone. Raises OSError if it is another user's, or not a folder itself."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
        raise OSError("not a folder of this user")
    if found.st_mode & 0o077:
        Path(folder).chmod(0o700)


def _version() -> str:
    """Changes with everything that decides what is found: this package's code, and the Python that parses."""
    package = os.path.dirname(ddpdoctor.__file__)  # noqa: PTH120
    seen: list[object] = [ddpdoctor.__version__, sys.version_info[:3]]
    for name in CODE:
        with os.scandir(f"{package}/{name}") as listed:
            found = [(e.name, e.stat().st_size, e.stat().st_mtime_ns) for e in listed if e.name.endswith(".py")]
        seen.append((name, sorted(found)))
    return digest(repr(seen).encode())


def _sweep(base: str, folder: str) -> None:
    """Once a day, remove what was written long ago, also by other versions."""
    mark, now = Path(f"{folder}/swept"), time.time()
    with suppress(OSError):
        if now - mark.stat().st_mtime < _DAY:
            return
    mark.touch(mode=0o600)
    for other in Path(base).glob("lint-*"):
        for entry in other.iterdir():
            with suppress(OSError):
                if now - entry.stat().st_mtime > KEPT_DAYS * _DAY:
                    entry.unlink()
        if other != Path(folder):
            with suppress(OSError):
                other.rmdir()  # empty only if all in it was old


def _decoded(listed: Any) -> tuple[Finding, ...]:
    return tuple(codec.decode(Finding, one) for one in listed)
