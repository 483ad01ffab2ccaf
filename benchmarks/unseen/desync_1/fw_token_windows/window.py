from dataclasses import dataclass


@dataclass
class TokenWindow:
    """Collects batches until they hold enough target tokens for one update."""

    goal: int
    pending: int = 0
    updates: int = 0

    def add(self, tokens: int) -> bool:
        """Counts a batch; true if it is the last one of its window."""
        self.pending += tokens
        if self.pending < self.goal:
            return False
        self.pending = 0
        self.updates += 1
        return True
