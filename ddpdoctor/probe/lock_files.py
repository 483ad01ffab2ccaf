"""Lock files that threads of this process poll for, recognised by the functions the threads are in.

Only the path is read, from the dictionary of the lock object or from a variable of the polling function: no code of the
job runs for it, and no other value is read.
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

MOST = 4
LONGEST = 1024
#: frames of a thread that are inspected, from the innermost: a polling loop is at most a few calls deep
DEPTH = 6

#: end of the file's name, function -> where the path is: a local variable, or an attribute of `self`
_PATHS = (
    ("/torch/utils/file_baton.py", "wait", ("self", "lock_file_path")),
    ("/filelock/_api.py", "acquire", ("lock_filename",)),
    ("/filelock/_api.py", "acquire", ("canonical_path",)),
    ("/portalocker/utils.py", "acquire", ("self", "filename")),
    ("/fasteners/process_lock.py", "acquire", ("self", "path")),
)


def polled_lock_files() -> tuple[str, ...]:
    """Absolute paths, at most one per thread; empty if no thread polls for a lock file."""
    found: list[str] = []
    for frame in sys._current_frames().values():
        path = _path(frame)
        if path and len(found) < MOST:
            found.append(path)
    return tuple(sorted(set(found)))


def _path(innermost: FrameType) -> str:
    frame: FrameType | None = innermost
    for _ in range(DEPTH):
        if frame is None:
            return ""
        code = frame.f_code
        for file, function, way in _PATHS:
            if code.co_name == function and code.co_filename.endswith(file):
                path = _text(_follow(frame, way))
                if path:
                    return path
        frame = frame.f_back
    return ""


def _follow(frame: FrameType, way: tuple[str, ...]) -> Any:
    """A variable, then entries of objects' own dictionaries: never a property, never __getattr__."""
    value: Any = frame.f_locals.get(way[0])
    for name in way[1:]:
        try:
            value = object.__getattribute__(value, "__dict__").get(name)
        except AttributeError:
            return None
    return value


def _text(value: Any) -> str:
    if type(value).__module__ in ("pathlib", "pathlib._local") and isinstance(value, os.PathLike):
        value = str(value)
    if type(value) is not str or not value or len(value) > LONGEST:
        return ""
    return os.path.abspath(value)
