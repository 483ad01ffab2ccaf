"""The place in the job's own code that made a call: the innermost frame outside torch, the standard library and the
probe."""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
import traceback
from types import CodeType, FrameType, TracebackType

from . import libraries, state
from .writer import PageWriter

PROBE = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: code objects that are remembered (and so kept alive); bounded, because code may be created at run time
MOST_CODES = 20_000

_torch = ""
_library = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})
_outside: dict[int, tuple[bool, CodeType]] = {}
#: those of them in libraries, and in installed packages that the job uses rather than runs
_packaged: set[int] = set()
#: the installed packages that the job runs, once one is found
_own: frozenset[str] = frozenset()
_positions: dict[tuple[int, int], tuple[PageWriter, int]] = {}


def set_torch_folder(init_file: str) -> None:
    """Set the folder of torch, from `torch.__file__`."""
    global _torch
    _torch = os.path.dirname(os.path.abspath(init_file)) + os.sep


def position(page: PageWriter, frame: FrameType | None) -> int:
    """The text position of the innermost outside frame at or above `frame`; 0 if there is none."""
    while frame is not None:
        code = frame.f_code
        if (_outside.get(id(code)) or _learn(code))[0]:
            return _text(page, frame)
        frame = frame.f_back
    return 0


def call_position(page: PageWriter, frame: FrameType | None) -> int:
    """The text position of the line in the job's own code that led to a collective, possibly through a package.

    One line of an installed package may issue every collective of a job, so it does not distinguish them.
    """
    packaged: FrameType | None = None
    while frame is not None:
        code = frame.f_code
        if (_outside.get(id(code)) or _learn(code))[0]:
            if id(code) not in _packaged:
                return _text(page, frame)
            packaged = packaged or frame
        frame = frame.f_back
    return _text(page, packaged) if packaged is not None else 0


def _text(page: PageWriter, frame: FrameType) -> int:
    """The text position of one frame's place."""
    code = frame.f_code
    key = (id(code), frame.f_lasti)
    found = _positions.get(key)
    if found is not None and found[0] is page:
        return found[1]
    here = page.text(describe(frame))
    if id(code) in _outside:
        _positions[key] = (page, here)
    return here


def own_line(frame: FrameType | None) -> tuple[str, int, str] | None:
    """The innermost outside frame that is not in an installed package, or else the innermost outside frame."""
    fallback: tuple[str, int, str] | None = None
    while frame is not None:
        if (_outside.get(id(frame.f_code)) or _learn(frame.f_code))[0]:
            if not _is_packaged(frame.f_code.co_filename):
                return describe(frame)
            fallback = fallback or describe(frame)
        frame = frame.f_back
    return fallback


def describe(frame: FrameType) -> tuple[str, int, str]:
    """(file, line, function) of a frame, the file absolute."""
    code = frame.f_code
    return absolute(code.co_filename), frame.f_lineno or code.co_firstlineno, code.co_name


def absolute(file: str) -> str:
    """The absolute path; names such as <string> are kept."""
    return file if file.startswith(("<", os.sep)) else os.path.normpath(os.path.join(state.started_in, file))


def _learn(code: CodeType) -> tuple[bool, CodeType]:
    file = code.co_filename
    inside = file.startswith((_torch, PROBE, "<frozen ")) if _torch else file.startswith((PROBE, "<frozen "))
    if not inside and file.startswith(_library):
        inside = libraries.origin(file).kind not in (libraries.Kind.LIBRARY, libraries.Kind.INSTALLED)
    known = (not inside, code)
    if len(_outside) < MOST_CODES:
        _outside[id(code)] = known
        if _is_packaged(file):
            _packaged.add(id(code))
    return known


def _is_packaged(file: str) -> bool:
    """Whether a file belongs to a library, or to an installed package that the job uses rather than runs."""
    kind, package = libraries.origin(file)
    return kind is libraries.Kind.LIBRARY or (kind is libraries.Kind.INSTALLED and package not in own_packages())


def own_packages() -> frozenset[str]:
    """The installed packages that the job runs, judged by its main thread and the file it was started with."""
    global _own
    if not _own:
        main = sys._current_frames().get(threading.main_thread().ident or 0)
        stack = [frame.f_code.co_filename for frame, _ in traceback.walk_stack(main)]
        began = getattr(sys.modules.get("__main__"), "__file__", None)
        _own = libraries.own_packages([stack, [str(began)] if began else []])
    return _own


def describe_entry(entry: TracebackType) -> tuple[str, int, str]:
    """(file, line, function) of a traceback entry: the line where the frame was left, not where it is now."""
    code = entry.tb_frame.f_code
    return absolute(code.co_filename), entry.tb_lineno or code.co_firstlineno, code.co_name
