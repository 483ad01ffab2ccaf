"""Bounds the time of calls that may never return: on a mount whose server is gone, on a process whose memory is
locked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: seconds; a call that returns at all takes a millisecond
LONGEST = 0.5


def within(ask: Callable[[], T], otherwise: T, seconds: float = LONGEST) -> T:
    """What `ask` returns, or `otherwise` if it raises OSError or ValueError or takes longer than `seconds`.

    A call that does not return stays in a daemon thread, which does not keep the interpreter from exiting.
    """
    answers: list[T] = []

    def run() -> None:
        try:
            answers.append(ask())
        except (OSError, ValueError):
            return

    asking = threading.Thread(target=run, daemon=True, name="ddpdoctor-ask")
    asking.start()
    asking.join(seconds)
    return answers[0] if answers else otherwise
