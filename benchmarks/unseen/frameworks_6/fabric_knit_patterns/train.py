import time

import torch
from lightning.fabric import Fabric
from torch import nn

from schedule import Accumulation


class StitchModel(nn.Module):
    def __init__(self, stitches=12, width=32):
        super().__init__()
        self.emb = nn.Embedding(stitches, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, stitches)

    def forward(self, row):
        h, _ = self.rnn(self.emb(row))
        return self.out(h)


def patterns(rank, count):
    g = torch.Generator().manual_seed(1000 + rank)
    for _ in range(count):
        yield torch.randint(0, 12, (4, 10), generator=g)


def main(steps=80, report=20):
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(2, verbose=False)
    model = StitchModel()
    model, optim = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=3e-3))
    plan = Accumulation(fabric.global_rank)
    total = 0.0
    for step, row in enumerate(patterns(fabric.global_rank, steps)):
        wait = plan.pending(step)
        with fabric.no_backward_sync(model, enabled=wait):
            logits = model(row[:, :-1])
            loss = nn.functional.cross_entropy(logits.reshape(-1, 12), row[:, 1:].reshape(-1))
            fabric.backward(loss / plan.factor(step))
        if not wait:
            optim.step()
            optim.zero_grad()
        total += loss.item()
        time.sleep(0.02)
        if (step + 1) % report == 0:
            mean = fabric.all_gather(torch.tensor(total / report)).mean()
            fabric.print(step + 1, round(mean.item(), 4))
            total = 0.0
    fabric.barrier()


if __name__ == "__main__":
    main()
