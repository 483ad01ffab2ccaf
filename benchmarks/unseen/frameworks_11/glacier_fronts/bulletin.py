import torch


class Bulletin:
    """A line in the log now and then, about the errors since the last one."""

    def __init__(self, accelerator, every: int):
        self.accelerator = accelerator
        self.every = every
        self.errors = []

    def add(self, error):
        self.errors.append(error.detach().abs())

    def after(self, updates: int):
        if updates % self.every == 0:
            if self.accelerator.is_main_process:
                self.publish(updates)
            self.errors.clear()

    def publish(self, updates: int):
        metres = self.quantiles(torch.tensor([0.5, 0.9])) * 64 * 40
        self.accelerator.print(f"update {updates}: half within {metres[0]:.0f} m, most within {metres[1]:.0f} m")

    def quantiles(self, q):
        everywhere = self.accelerator.gather(torch.cat(self.errors))
        return torch.quantile(everywhere, q)
