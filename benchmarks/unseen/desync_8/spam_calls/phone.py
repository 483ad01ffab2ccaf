"""Phone calls as a row of figures; some belong to campaigns of advertisers."""

import time

import torch
from torch.utils.data import DataLoader, Dataset

FIGURES = 14


class Calls(Dataset):
    """The operators' records, block by block in the order in which they came in."""

    def __init__(self, blocks, rows):
        self.blocks, self.rows = blocks, rows

    def __len__(self):
        return self.blocks

    def campaign_share(self, block):
        """A few blocks are the work of one machine that dialled all night."""
        return 0.95 if block == 4 * 150 + 1 else 0.3

    def __getitem__(self, block):
        time.sleep(0.04 + 0.02 * torch.rand(1).item())
        generator = torch.Generator().manual_seed(block)
        count = round(self.rows * self.campaign_share(block))
        spam = torch.zeros(self.rows)
        spam[:count] = 1
        figures = torch.randn(self.rows, FIGURES, generator=generator)
        figures[:, 2] += 1.5 * spam
        figures[:, 5] -= spam
        return figures, spam


def blocks_of(blocks, rows):
    return DataLoader(Calls(blocks, rows), batch_size=1, collate_fn=lambda block: block[0])
