import os
import tempfile
import time

import deepspeed
import torch
from torch import nn

from keeper import Keeper

CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 1,
    "zero_optimization": {"stage": 0},
    "steps_per_print": 1000000,
}


class LetterModel(nn.Module):
    def __init__(self, vocab=60, width=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.mix = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, ids):
        h, _ = self.mix(self.embed(ids))
        return self.head(h)


def letters(rank, n):
    g = torch.Generator().manual_seed(rank + 90)
    for _ in range(n):
        yield torch.randint(0, 60, (4, 14), generator=g)


def main():
    deepspeed.init_distributed(dist_backend="gloo")
    rank = int(os.environ["RANK"])
    torch.manual_seed(0)
    net = LetterModel()
    engine, _, _, _ = deepspeed.initialize(
        model=net, optimizer=torch.optim.AdamW(net.parameters(), lr=1e-3), config=CONFIG)
    keeper = Keeper(os.path.join(tempfile.gettempdir(), "estate")) if rank == 0 else None
    for ids in letters(rank, 80):
        logits = engine(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        engine.backward(loss)
        engine.step()
        time.sleep(0.02)
        if keeper is not None:
            keeper.observe(engine, loss.item())
    deepspeed.comm.barrier()


if __name__ == "__main__":
    main()
