from collections import defaultdict

import torch


class ReturnTracker:
    """Returns of the finished episodes of an epoch, by environment."""

    def __init__(self):
        self.returns = defaultdict(list)

    def add(self, env, value):
        self.returns[env].append(float(value))

    def flush(self):
        means = {env: torch.tensor(values).mean() for env, values in sorted(self.returns.items())}
        self.returns.clear()
        return means


class TrackedReturns:
    """Mixin for modules that play episodes."""

    def init_tracking(self):
        self.tracker = ReturnTracker()

    def on_train_epoch_end(self):
        for env, mean in self.tracker.flush().items():
            self.log(f"return/{env}", mean, sync_dist=True)
