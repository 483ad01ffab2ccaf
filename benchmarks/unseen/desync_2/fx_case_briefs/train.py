import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from briefs import VOCAB, brief_loader

WINDOW = 256
BATCHES = 320
BATCH_SIZE = 4


class CausalMixer(nn.Module):
    def __init__(self, dim=24, span=5):
        super().__init__()
        self.span = span
        self.embed = nn.Embedding(VOCAB, dim)
        self.conv = nn.Conv1d(dim, dim, span)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, tokens):
        e = self.embed(tokens).t().unsqueeze(0)
        h = self.conv(nn.functional.pad(e, (self.span - 1, 0)))
        h = self.norm(torch.relu(h).squeeze(0).t())
        return self.out(h)


def windows(briefs):
    """The briefs of a batch in one row, in portions that fit the context."""
    row = torch.cat(briefs)
    return list(row.split(WINDOW))


def learn_batch(model, optimizer, briefs):
    parts = windows(briefs)
    optimizer.zero_grad()
    total = 0.0
    for part in parts:
        time.sleep(0.034)
        logits = model(part[:-1])
        loss = nn.functional.cross_entropy(logits, part[1:]) / len(parts)
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    return total


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(77)
    rank, world = dist.get_rank(), dist.get_world_size()

    model = DDP(CausalMixer())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = brief_loader(rank, BATCHES * BATCH_SIZE, BATCH_SIZE)

    history = []
    for number, batch in enumerate(loader):
        history.append(learn_batch(model, optimizer, batch))
        if rank == 0 and number % 40 == 0:
            print(f"batch {number}: {history[-1]:.3f}", flush=True)

    mine = torch.tensor(history[-50:])
    everyone = [torch.empty_like(mine) for _ in range(world)]
    dist.all_gather(everyone, mine)
    if rank == 0:
        print("courts:", [f"{v.mean():.3f}" for v in everyone], flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
