"""Asking what may never answer: a mount whose server is away, a process whose memory is locked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: seconds; what answers at all answers within a millisecond
LONGEST = 0.5


def within(ask: Callable[[], T], otherwise: T, seconds: float = LONGEST) -> T:
    """What `ask` returns, or `otherwise` where it raises OSError or ValueError or takes longer.

    A question that hangs stays behind in a daemon thread: the interpreter can end without it.
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
