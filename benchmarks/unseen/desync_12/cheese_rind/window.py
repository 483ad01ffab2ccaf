class Window:
    """Counts the batches over which gradients are accumulated, within a lot.

    A lot is a whole number of windows, so that wheels of two lots are never mixed in one update.
    """

    def __init__(self, size):
        self.size = size
        self.lot = None
        self.count = 0
        self.updates = 0

    def enter(self, lot):
        """Takes a batch of the lot in; whether the window goes on after it."""
        if lot != self.lot:
            self.lot, self.count = lot, 0
        self.count += 1
        return self.count % self.size != 0

    def close(self):
        self.updates += 1

    def scale(self):
        return 1.0 / self.size

    def __repr__(self):
        return f"Window(lot={self.lot}, count={self.count}, updates={self.updates})"
