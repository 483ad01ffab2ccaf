"""Exceptions that the tasks of a pool have left in their futures: nobody hears of one who does not ask for the result.

`submit(task)` without a look at what it returns loses the task's exception without a word, and who waits for what the
task was to put into a queue waits for ever.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections import deque
from concurrent.futures import Future
from time import monotonic
from typing import Any

from . import exit_hooks
from .transparent_hooks import drop_frame, impersonate

#: exceptions that are described in `PERIOD` seconds: a program may use them to say "not found", a thousand times
MOST, PERIOD = 4, 1.0

_numbers = itertools.count()
#: without a reference to the future, whose end is none of our affair; what is no longer there was not read
_unread: weakref.WeakKeyDictionary[Future[Any], int] = weakref.WeakKeyDictionary()
_described: deque[float] = deque(maxlen=MOST)


def install() -> None:
    keep, result, exception = Future.set_exception, Future.result, Future.exception

    def set_exception(self: Future[Any], exception: BaseException | None) -> None:
        # the job's own exception must be kept whatever happens here; before its callbacks, which may read it
        with contextlib.suppress(Exception):
            _note(self, exception)
        try:
            keep(self, exception)
        except BaseException as error:
            _forget(self)
            drop_frame(error)
            raise

    def read_result(self: Future[Any], timeout: float | None = None) -> Any:
        try:
            return result(self, timeout)
        except BaseException as error:
            _forget(self)
            drop_frame(error)
            raise

    def read_exception(self: Future[Any], timeout: float | None = None) -> BaseException | None:
        try:
            found = exception(self, timeout)
        except BaseException as error:
            drop_frame(error)
            raise
        if found is not None:
            _forget(self)
        return found

    Future.set_exception = impersonate(set_exception, keep)  # type: ignore[method-assign]
    Future.result = impersonate(read_result, result)  # type: ignore[method-assign]
    Future.exception = impersonate(read_exception, exception)  # type: ignore[method-assign]


def _note(future: Future[Any], error: BaseException | None) -> None:
    now = monotonic()
    if error is None or (len(_described) == MOST and now - _described[0] < PERIOD):
        return
    _described.append(now)
    number = next(_numbers)
    if exit_hooks.note_task(number, error, threading.current_thread().name):
        _unread[future] = number


def _forget(future: Future[Any]) -> None:
    """A read that times out finds nothing to forget: there is no exception yet."""
    with contextlib.suppress(Exception):
        number = _unread.pop(future, None)
        if number is not None:
            exit_hooks.forget_task(number)
