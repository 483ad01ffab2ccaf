import time
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import nn


@dataclass
class Settings:
    steps: int = 60
    tokens_per_update: int = 256
    report_every: int = 12
    lr: float = 1e-2
    vocab: int = 120
    dim: int = 24


class TinyLM(nn.Module):
    def __init__(self, s: Settings):
        super().__init__()
        self.emb = nn.Embedding(s.vocab, s.dim)
        self.rnn = nn.GRU(s.dim, s.dim, batch_first=True)
        self.out = nn.Linear(s.dim, s.vocab)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids[:, :-1]))
        return nn.functional.cross_entropy(self.out(h).flatten(0, 1), ids[:, 1:].flatten())


def conversations(s: Settings, queue_id: int):
    """Yield the support conversations of one queue; every queue is served by one process."""
    g = torch.Generator().manual_seed(100 + queue_id)
    for i in range(s.steps):
        turns = 16
        if queue_id == 1 and i >= s.report_every:
            turns = 24          # billing: longer threads since the price change
        yield torch.randint(0, s.vocab, (4, turns), generator=g)


def train(s: Settings):
    acc = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = TinyLM(s)
    opt = torch.optim.Adam(model.parameters(), lr=s.lr)
    model, opt = acc.prepare(model, opt)
    pending = updates = total = 0

    for step, ids in enumerate(conversations(s, acc.process_index), start=1):
        pending += ids.numel()
        total += ids.numel()
        update = pending >= s.tokens_per_update
        ctx = nullcontext() if update else acc.no_sync(model)
        with ctx:
            loss = model(ids)
            acc.backward(loss)
        if update:
            opt.step()
            opt.zero_grad()
            pending = 0
            updates += 1
        time.sleep(0.02)
        if step % s.report_every == 0:
            losses = acc.gather(loss.detach().reshape(1))
            acc.print(f"step {step:3d} loss {losses.mean():.4f} updates {updates}")

    acc.wait_for_everyone()
    acc.print("trained on", total, "tokens")
    acc.end_training()


if __name__ == "__main__":
    train(Settings())
