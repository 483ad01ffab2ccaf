"""Next-gloss prediction for the dialect atlas, one region per rank.

torchrun --standalone --nproc-per-node 3 train.py
"""
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from corpus import Glosser, sentences

BATCH, STEPS, VOCAB = 4, 400, 12


class GlossModel(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.table = nn.Embedding(VOCAB, width)
        self.cell = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, VOCAB)

    def forward(self, x):
        return self.out(self.cell(self.table(x))[0])


def batches(region, glosser):
    rows = []
    for sentence in sentences(region, BATCH * STEPS):
        rows.append(glosser(sentence))
        if len(rows) == BATCH:
            yield torch.tensor(rows)
            rows = []


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(GlossModel())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    glosser = Glosser()

    for step, glosses in enumerate(batches(rank, glosser)):
        logits = model(glosses[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), glosses[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.08)           # be nice, the atlas server runs on the same box
        if step % 50 == 0 and rank == 0:
            print(f"step {step}: {loss.item():.3f}", flush=True)

    glosser.close()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
