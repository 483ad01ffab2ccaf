"""The place that made a call: the innermost line of the job's own code, and the path of calls outside torch, the
standard library and the probe that led to the call."""

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
#: frames of one path; a framework's loop is about twenty frames above the call
MOST_FRAMES = 32
#: paths that are remembered
MOST_PATHS = 20_000

_torch = ""
_library = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})
_outside: dict[int, tuple[bool, CodeType]] = {}
#: those of them in libraries, and in installed packages that the job uses rather than runs
_packaged: set[int] = set()
#: the installed packages that the job runs, once one is found
_own: frozenset[str] = frozenset()
_positions: dict[tuple[int, int], tuple[PageWriter, int]] = {}
#: those of `_outside` that are outside, and those that are not
_outside_ids: set[int] = set()
_inside_ids: set[int] = set()
_places: tuple[PageWriter | None, dict[tuple[int, ...], tuple[int, int]]] = (None, {})


def set_torch_folder(init_file: str) -> None:
    """Set the folder of torch, from `torch.__file__`."""
    global _torch
    _torch = os.path.dirname(os.path.abspath(init_file)) + os.sep


def place(page: PageWriter, frame: FrameType | None) -> tuple[int, int]:
    """Text positions of the line in the job's own code at or above `frame`, and of the path of calls to the innermost
    outside frame; 0 for what there is not.

    One line of an installed package may issue every collective of a job, and one line of a job may call a framework
    that runs all of it, so only both together distinguish the operations.
    """
    # every operation comes here, so that a known path is found by one look-up: code and instruction of each frame
    key: list[int] = []
    started, outside = frame, _outside_ids
    while frame is not None:
        code = frame.f_code
        number = id(code)
        if number in outside or (number not in _inside_ids and _learn(code)[0]):
            key.append(number)
            key.append(frame.f_lasti)
            if len(key) == 2 * MOST_FRAMES:
                break
        frame = frame.f_back
    known = _known_places(page)
    found = known.get(tuple(key))
    return found if found is not None else _new_place(page, started, known)


def _new_place(
    page: PageWriter, frame: FrameType | None, known: dict[tuple[int, ...], tuple[int, int]]
) -> tuple[int, int]:
    path: list[FrameType] = []
    own: FrameType | None = None
    while frame is not None and (own is None or len(path) < MOST_FRAMES):
        code = frame.f_code
        if (_outside.get(id(code)) or _learn(code))[0]:
            if len(path) < MOST_FRAMES:
                path.append(frame)
            if own is None and not _is_of_package(code):
                own = frame
        frame = frame.f_back
    if not path:
        return 0, 0
    here = _text(page, own or path[0]), _path(page, path)
    # an id is that of a code object only as long as this is remembered; a path without the job's line may be cut off
    if own in path and len(known) < MOST_PATHS and all(id(one.f_code) in _outside for one in path):
        known[tuple(part for one in path for part in (id(one.f_code), one.f_lasti))] = here
    return here


def _path(page: PageWriter, path: list[FrameType]) -> int:
    """The text position of a path: each of its frames is written once for each path of its caller."""
    at = 0
    for frame in reversed(path):
        at = page.frame(_text(page, frame), at)
        if not at:
            return 0
    return at


def _known_places(page: PageWriter) -> dict[tuple[int, ...], tuple[int, int]]:
    """The places that the page holds, by the code and the instruction of each frame."""
    global _places
    if _places[0] is not page:
        _places = (page, {})
    return _places[1]


def _is_of_package(code: CodeType) -> bool:
    return id(code) in _packaged if id(code) in _outside else _is_packaged(code.co_filename)


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
        (_inside_ids if inside else _outside_ids).add(id(code))
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
