"""A limit for the pixels that are looked at in one epoch."""

import lightning as L


class PixelBudget:
    """Counts pixels; `spent` when the allowance of the epoch is used up."""

    def __init__(self, allowance):
        self.allowance = allowance
        self.used = 0

    def renew(self):
        self.used = 0

    def charge(self, pixels):
        self.used += pixels

    @property
    def spent(self):
        return self.used >= self.allowance


class BudgetedModule(L.LightningModule):
    """A module that leaves the rest of an epoch out when it has looked at enough."""

    def __init__(self, allowance):
        super().__init__()
        self.budget = PixelBudget(allowance)

    def on_train_epoch_start(self):
        self.budget.renew()

    def on_train_batch_start(self, batch, batch_idx):
        if self.budget.spent:
            return -1
        self.budget.charge(int(batch["mask"].sum()))
