import torch


class Memory:
    """Keeps difficult batches until there are enough of them for another look."""

    def __init__(self, capacity, limit):
        self.capacity, self.limit = capacity, limit
        self.kept = []

    def offer(self, batch, loss):
        if loss > self.limit:
            self.kept.append(batch)

    def full(self):
        return len(self.kept) >= self.capacity

    def empty(self):
        """Hands the kept batches over, as a single one."""
        bands, cover = zip(*self.kept)
        self.kept = []
        return torch.cat(bands), torch.cat(cover)
