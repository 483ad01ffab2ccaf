"""Errors on the held-out nights, by kind of burst and over all telescopes."""
import torch
import torch.distributed as dist

KINDS = ("faint", "single", "repeating")


class ErrorBook:
    """Absolute errors of the arrival time, entered one by one."""

    def __init__(self):
        self.entries = {kind: [] for kind in KINDS}

    def enter(self, kinds, errors):
        for kind, error in zip(kinds.tolist(), errors.tolist()):
            self.entries[KINDS[kind]].append(error)

    def clear(self):
        for entries in self.entries.values():
            entries.clear()

    def mean(self, kind):
        """Mean error of a kind over all telescopes; a telescope without such a burst adds nothing to it."""
        errors = self.entries[kind]
        count = torch.tensor(len(errors))
        total = torch.tensor(sum(errors))
        dist.all_reduce(count)
        dist.all_reduce(total)
        return total.item() / max(count.item(), 1)

    def means(self):
        return {kind: self.mean(kind) for kind in KINDS}


@torch.no_grad()
def evaluate(model, night, book):
    book.clear()
    model.eval()
    for start in range(0, len(night), 40):
        spectra, arrival, kinds = night[start : start + 40]
        book.enter(kinds, (model(spectra) - arrival).abs())
    model.train()
    return book.means()
