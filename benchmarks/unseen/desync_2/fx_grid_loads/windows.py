from dataclasses import dataclass


@dataclass
class Window:
    """Decides where a window of micro-batches ends.

    A window normally has `size` micro-batches. The events of a window share one buffer, so
    it must not collect more of them than `max_events`.
    """

    size: int
    max_events: int
    events: int = 0
    closed: int = 0

    def closes(self, index, events):
        self.events += events
        done = (index + 1) % self.size == 0 or self.events > self.max_events
        if done:
            self.events = 0
            self.closed += 1
        return done
