class PlateauStopper:
    """Stop when the monitored value has not improved for `patience` epochs."""

    def __init__(self, patience=5, mode="min", min_delta=0.0):
        self.patience = patience
        self.sign = 1.0 if mode == "max" else -1.0
        self.min_delta = min_delta
        self.best = float("-inf")
        self.stale = 0

    def should_stop(self, value):
        value = self.sign * value
        if value > self.best + self.min_delta:
            self.best = value
            self.stale = 0
        else:
            self.stale += 1
        return self.stale >= self.patience
