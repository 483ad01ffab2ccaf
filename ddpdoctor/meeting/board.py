"""Where watchers leave messages for each other: what a store and a shared folder have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Found:
    """What was under the keys that were asked for; who left nothing is missing."""

    values: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Claimed:
    """What stands under a key that several want to set first."""

    value: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """The board cannot be reached, or not in time; nothing more will be answered."""

    reason: str


Answer = Found | Claimed | Lost


class Board(Protocol):
    """Messages are left and asked for without waiting; answers come in the order of `claim` and `gather`."""

    def put(self, key: str, value: bytes) -> None: ...

    def append(self, key: str, value: bytes) -> None:
        """Add a line to what is there."""

    def claim(self, key: str, value: bytes) -> None:
        """Set a key that nobody has set; answered by Claimed with what stands there then."""

    def gather(self, keys: Iterable[str], within: float) -> None:
        """Answered by Found as soon as all are there, or after `within` seconds."""

    def poll(self, now: float) -> tuple[Answer, ...]:
        """The answers that have come. `now` is CLOCK_MONOTONIC."""

    def close(self) -> None: ...
