import torch


class Ballot:
    """A window is used only if it is fit for use on every process; all of them learn the result."""

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.refused = self.objections = 0

    def accepts(self, strain, load):
        fit = bool(torch.isfinite(strain).all() and torch.isfinite(load).all())
        votes = self.accelerator.reduce(torch.tensor([float(fit)]), reduction="sum")
        self.objections += not fit
        accepted = int(votes.item()) == self.accelerator.num_processes
        self.refused += not accepted
        return accepted
