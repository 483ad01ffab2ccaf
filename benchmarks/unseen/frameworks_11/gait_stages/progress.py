from collections import deque


class Progress:
    """The mean loss of the last steps, and whether it is low enough."""

    def __init__(self, target: float, window: int):
        self.target = target
        self.recent = deque(maxlen=window)

    def note(self, losses):
        if losses:
            self.recent.append(sum(loss.item() for loss in losses) / len(losses))

    @property
    def reached(self) -> bool:
        if len(self.recent) < self.recent.maxlen:
            return False
        return sum(self.recent) / len(self.recent) < self.target
