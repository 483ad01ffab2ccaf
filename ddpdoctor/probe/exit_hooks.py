"""Records how the process ended, and exceptions before they end it.

An exception's time is when it was first seen: inside a hook that it passed through, in a communication call made while
it is handled (`finally: dist.barrier()`), by the heartbeat, or in the excepthook, whichever was first.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
import traceback
from collections.abc import Callable
from time import monotonic
from types import FrameType, TracebackType
from typing import Any, NoReturn

from . import call_sites, state, thread_stacks
from .redact import redacted
from .transparent_hooks import drop_frame, without_hooks
from .writer import PageWriter

MOST_FRAMES = 64
MOST_PENDING = 4
#: threads that an exception has ended, and the length of each of their tracebacks
MOST_THREADS = 2
LONGEST_OF_THREAD = 4000
LONGEST_MESSAGE = 2000
LONGEST_TRACEBACK = 12_000
#: attempts to write an exception: when a data worker dies, torch's handler of SIGCHLD raises wherever the main thread
#: is, here too (_error_if_any_worker_fails, torch/utils/data/_utils/signal_handling.py)
TRIES = 3
#: preceding exceptions of another that are kept, and the length of each of their tracebacks
MOST_BEFORE = 3
LONGEST_BEFORE = 2000

#: (id, type name) of exceptions -> when first seen. No references, which would keep the job's tensors alive.
_first_seen: dict[tuple[int, str], float] = {}
#: exceptions being handled that are on the page, by the same key
_pending: dict[tuple[int, str], dict[str, Any]] = {}
#: absolute paths of lock files that threads poll for, as they are on the page
_lock_files: tuple[str, ...] = ()
#: exceptions that have ended threads, the newest last
_threads: list[dict[str, Any]] = []
#: exceptions of a pool's tasks that nobody has read, by number, the newest last
_tasks: dict[int, dict[str, Any]] = {}
#: the newest `sys.exit` with a failure status
_leaving: dict[str, Any] | None = None
_ended = False
#: exceptions that signal an end, not a failure
SIGNS = (StopIteration, StopAsyncIteration, GeneratorExit)


def note_first_seen(error: BaseException) -> float:
    """Record when an exception was first seen; returns that CLOCK_MONOTONIC time."""
    if len(_first_seen) > 256:
        _first_seen.clear()
    return _first_seen.setdefault(_key(error), monotonic())


def _key(error: BaseException) -> tuple[int, str]:
    return id(error), type(error).__qualname__


def describe(error: BaseException, trace: TracebackType | None) -> dict[str, Any]:
    """An exception as JSON values: innermost frames first, long texts shortened in the middle.

    Includes the exceptions that were being handled when it was raised, the oldest first.
    """
    time = note_first_seen(error)
    return {**_one(error, trace, time, LONGEST_TRACEBACK), "before": _before(error, time)}


def _before(error: BaseException, time: float) -> list[dict[str, Any]]:
    """The preceding exceptions, none of them later than the one that followed it, whenever it was seen."""
    chain = [error]
    while len(chain) <= 16 and (behind := _behind(chain[-1])) is not None and all(behind is not one for one in chain):
        chain.append(behind)
    found: list[dict[str, Any]] = []
    for one in chain[:0:-1][:MOST_BEFORE]:
        if not isinstance(one, SIGNS):
            found.append(_one(one, one.__traceback__, min(time, _first_seen.get(_key(one), time)), LONGEST_BEFORE))
    return found


def _behind(error: BaseException) -> BaseException | None:
    """The preceding exception as Python prints chains: the cause, or else the one that was being handled, unless `from
    None` hides it."""
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _one(error: BaseException, trace: TracebackType | None, time: float, longest: int) -> dict[str, Any]:
    kind = type(error)
    prefix = "" if kind.__module__ in ("builtins", "__main__") else kind.__module__ + "."
    frames = [call_sites.describe_entry(entry) for entry in _entries(trace)]
    if len(frames) > MOST_FRAMES:
        frames = frames[: MOST_FRAMES // 2] + frames[-MOST_FRAMES // 2 :]
    return {
        "type": prefix + kind.__qualname__,
        "message": _kept(_message(error), LONGEST_MESSAGE),
        "time": time,
        "frames": frames,
        "traceback": _kept("".join(traceback.format_exception(kind, error, trace)), longest),
    }


def note_handled(page: PageWriter) -> None:
    """Put the exception that this thread is handling on the page, because its handler is about to communicate."""
    error = sys.exc_info()[1]
    if error is not None and _key(error) not in _pending and not isinstance(error, SIGNS):
        _pending[_key(error)] = describe(error, error.__traceback__)
        _write_pending(page)


def update_pending(
    page: PageWriter, current: list[BaseException], still: bool, lock_files: tuple[str, ...] = ()
) -> None:
    """Remove exceptions that are no longer handled; if nothing else was written, add those that are, and the lock files
    polled for."""
    global _lock_files
    failures = {_key(error): error for error in current if not isinstance(error, SIGNS)}
    gone = [key for key in _pending if key not in failures]
    new = [key for key in failures if still and key not in _pending]
    for key in gone:
        _pending.pop(key, None)
    for key in new:
        _pending[key] = describe(failures[key], failures[key].__traceback__)
    if gone or new or lock_files != _lock_files:
        _lock_files = lock_files
        _write_pending(page)


def _write_pending(page: PageWriter) -> None:
    raised = list(_pending.values())[-MOST_PENDING:]
    others: list[Any] = [{"lock_file": path} for path in _lock_files]
    if _leaving is not None:
        others.append({"leaving": _leaving})
    ended = [*_threads, *_tasks.values()]
    try:
        page.pending([*raised, *others, *ended])
    except ValueError:
        threads = ({**one, "raised": _shortened(one["raised"])} for one in ended)
        page.pending([*map(_shortened, raised), *others, *threads])


def _shortened(one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "traceback": "", "before": [], "frames": one["frames"][:8]}


def write_ending(kind: str, error: BaseException | None = None, trace: TracebackType | None = None) -> None:
    """Write the ending once; later calls are about the clean-up and are ignored."""
    global _ended
    page = state.page
    if page is None or _ended:
        return
    _ended = True
    try:
        _write_ending(page, kind, error, trace)
    except BaseException:
        _ended = False
        raise


def _write_ending(page: PageWriter, kind: str, error: BaseException | None, trace: TracebackType | None) -> None:
    raised = None if error is None else describe(error, trace)
    try:
        page.ending({"kind": kind, "time": monotonic(), "raised": raised})
    except ValueError:
        if raised is not None:
            # JSON may need six bytes per character
            raised.update(traceback="", message=raised["message"][:200], frames=raised["frames"][:8], before=[])
        page.ending({"kind": kind, "time": monotonic(), "raised": raised})


def forget() -> None:
    """In a forked child, which ends by itself."""
    global _ended, _lock_files, _leaving
    _ended = False
    _leaving = None
    _lock_files = ()
    _first_seen.clear()
    _pending.clear()
    _threads.clear()
    _tasks.clear()


def install(create_page_late: Callable[[], None]) -> None:
    """Hook every way out of this process. `create_page_late` is for a rank that fails before its rendezvous."""
    previous = sys.excepthook

    @functools.wraps(previous)
    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        _note(create_page_late, error, trace)
        return previous(kind, error, without_hooks(trace))

    sys.excepthook = excepthook
    _watch_threads()
    atexit.register(_at_exit)
    _watch_exits(create_page_late)
    _watch_multiprocessing(create_page_late)


def _note(create_page_late: Callable[[], None], error: BaseException, trace: TracebackType | None) -> None:
    for _ in range(TRIES):
        try:
            create_page_late()
            write_ending("exception", error, trace)
        except Exception:  # noqa: BLE001 - boundary: the job's own report of its exception must still be printed
            continue
        return


def _watch_threads() -> None:
    """Record exceptions that end threads: who waits for such a thread waits for ever, and the process lives on."""
    previous = threading.excepthook

    @functools.wraps(previous)
    def excepthook(ended: Any, /) -> Any:
        try:
            _note_thread(ended)
            # with a comma: ExceptHookArgs is made from one sequence
            ended = threading.ExceptHookArgs((ended[0], ended[1], without_hooks(ended[2]), ended[3]))
        except Exception:  # noqa: BLE001 - boundary: the job's own report of its exception must still be printed
            pass
        return previous(ended)

    threading.excepthook = excepthook


def _note_thread(ended: Any) -> None:
    kind, error, trace, thread = ended
    if state.page is None or error is None or issubclass(kind, SystemExit):
        return
    _threads.append(_of_thread(error, trace, thread.name if thread is not None else ""))
    del _threads[:-MOST_THREADS]
    _write_pending(state.page)


def _of_thread(error: BaseException, trace: TracebackType | None, name: str) -> dict[str, Any]:
    raised = describe(error, trace)
    return {"thread": name, "raised": {**raised, "traceback": _cut(raised["traceback"], LONGEST_OF_THREAD)}}


def note_task(number: int, error: BaseException, thread: str) -> bool:
    """Put the exception of a task that a thread of a pool ran on the page, until it is read; whether that was done."""
    if state.page is None:
        return False
    _tasks[number] = {**_of_thread(error, error.__traceback__, thread), "task": True}
    while len(_tasks) > MOST_THREADS:
        _tasks.pop(next(iter(_tasks)), None)
    _write_pending(state.page)
    return True


def forget_task(number: int) -> None:
    """Somebody has read the exception."""
    if _tasks.pop(number, None) is not None and state.page is not None:
        _write_pending(state.page)


def _at_exit() -> None:
    """Registered first, so it runs last. An excepthook that replaced ours leaves its exception in `sys.last_value`."""
    try:
        last = getattr(sys, "last_value", None)
        if isinstance(last, BaseException):
            write_ending("exception", last, last.__traceback__)
        write_ending("normal")
    except Exception:  # noqa: BLE001 - boundary: nothing of ours may be printed at exit
        return


def _watch_exits(create_page_late: Callable[[], None]) -> None:
    """`sys.exit` and `os._exit` inside an `except` block hide the exception that caused them."""

    def note(status: object) -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, SystemExit) and status not in (None, 0):
            _note(create_page_late, error, error.__traceback__)
        elif status not in (None, 0):
            _leave(status, sys._getframe(2))

    leave, leave_now = sys.exit, os._exit

    @functools.wraps(leave)
    def exit_(status: Any = None, /) -> NoReturn:
        note(status)
        raise SystemExit(status)

    @functools.wraps(leave_now)
    def _exit(status: int) -> NoReturn:
        note(status)
        leave_now(status)

    sys.exit = exit_
    os._exit = _exit


def _leave(status: object, frame: FrameType) -> None:
    """Put `sys.exit(status)` on the page: it prints no traceback, and what follows it may hang."""
    global _leaving
    try:
        if state.page is None:
            return
        stack = [call_sites.describe(one) for one, _ in traceback.walk_stack(frame)][:MOST_FRAMES]
        text = _kept(str(status), LONGEST_MESSAGE) if isinstance(status, (int, str)) else type(status).__name__
        _leaving = {"type": "SystemExit", "message": text, "time": monotonic(), "frames": stack, "traceback": ""}
        _write_pending(state.page)
    except Exception:  # noqa: BLE001 - boundary: the job's own exit must go on
        return


def _watch_multiprocessing(create_page_late: Callable[[], None]) -> None:
    """multiprocessing prints a child's exception itself, and torch's mp.spawn turns it into `sys.exit(1)`."""
    from multiprocessing.process import BaseProcess

    bootstrap = BaseProcess._bootstrap  # type: ignore[attr-defined]

    @functools.wraps(bootstrap)
    def _bootstrap(self: BaseProcess, *args: Any, **kwargs: Any) -> Any:
        run = self.run

        def watched() -> None:
            thread_stacks.start_in_worker()
            try:
                run()
            except BaseException as error:
                drop_frame(error)
                reason = error.__context__ if isinstance(error, SystemExit) and error.code not in (None, 0) else error
                if reason is not None and not isinstance(reason, SystemExit):
                    _note(create_page_late, reason, reason.__traceback__)
                raise
            _at_exit()

        self.run = watched  # type: ignore[method-assign]
        return bootstrap(self, *args, **kwargs)

    BaseProcess._bootstrap = _bootstrap  # type: ignore[attr-defined]


def _entries(trace: TracebackType | None) -> list[TracebackType]:
    entries: list[TracebackType] = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    return entries[::-1]


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as fault:  # noqa: BLE001 - boundary: str() runs the job's code
        return f"<its message could not be made: {type(fault).__name__}>"


def _kept(text: str, length: int) -> str:
    """The text without secrets, shortened; of what is far longer not even all is looked through."""
    return _cut(redacted(_cut(text, 4 * length)), length)


def _cut(text: str, length: int) -> str:
    half = length // 2
    return text if len(text) <= length else f"{text[:half]}\n[...]\n{text[-half:]}"
