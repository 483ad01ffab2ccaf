class SpikeGuard:
    """Tells when a loss is far above its running mean. Quiet during the first `warmup` steps."""

    def __init__(self, factor=8.0, decay=0.95, warmup=20):
        self.factor = factor
        self.decay = decay
        self.warmup = warmup
        self.mean = None
        self.steps = 0

    def check(self, value):
        self.steps += 1
        if self.mean is None:
            self.mean = value
            return False
        if self.steps > self.warmup and value > self.factor * self.mean:
            return True
        self.mean = self.decay * self.mean + (1 - self.decay) * value
        return False
