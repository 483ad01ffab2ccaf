"""Pure. What the members of a group come to one after the other: the n-th of each belongs together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class InStep(Generic[T]):
    """What each member came to and the others have not yet, oldest first."""

    __slots__ = ("_lacking", "waiting")

    def __init__(self, members: Iterable[int]) -> None:
        self.waiting: dict[int, deque[T]] = {member: deque() for member in members}
        #: members for whom nothing waits. Counted, because most of what comes has to wait
        self._lacking = len(self.waiting)

    def add(self, member: int, one: T) -> int:
        """How many now wait for this member; nothing is kept of who is no member."""
        mine = self.waiting.get(member)
        if mine is None:
            return 0
        if not mine:
            self._lacking -= 1
        mine.append(one)
        return len(mine)

    @property
    def is_complete(self) -> bool:
        """Whether something waits for each member; never of a group of which no member is known."""
        return not self._lacking and bool(self.waiting)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits for any member."""
        return self._lacking == len(self.waiting)

    def take(self) -> list[T]:
        """The oldest of each member, in their order; only if `is_complete`."""
        return [self.drop(member) for member in self.waiting]

    def drop(self, member: int) -> T:
        """The oldest of one member. Raises IndexError if nothing waits."""
        mine = self.waiting[member]
        one = mine.popleft()
        if not mine:
            self._lacking += 1
        return one

    def clear(self) -> None:
        """Begin anew."""
        for mine in self.waiting.values():
            mine.clear()
        self._lacking = len(self.waiting)
