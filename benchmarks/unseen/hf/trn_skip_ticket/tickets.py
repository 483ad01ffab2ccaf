"""Support tickets, tokenised with last year's vocabulary."""
import torch
from torch.utils.data import Dataset

VOCAB, QUEUES = 200, 5


class Tickets(Dataset):
    def __init__(self, count=1440, length=16):
        gen = torch.Generator().manual_seed(21)
        self.tokens = torch.randint(1, VOCAB, (count, length), generator=gen)
        self.queue = self.tokens[:, :4].sum(1) % QUEUES
        # the product that was launched in spring got an id of its own
        self.tokens[780, 3] = VOCAB + 4

    def __len__(self):
        return len(self.queue)

    def __getitem__(self, i):
        return {"tokens": self.tokens[i], "labels": self.queue[i]}
