"""Clause classifier for contracts: type of the clause and, where it was
annotated, the liability cap.

The annotated share differs from one law firm to the next; every rank reads
the contracts of one firm.
"""
import logging
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from ledger import Ledger

log = logging.getLogger("clauses")


@dataclass
class Settings:
    vocabulary: int = 300
    width: int = 24
    types: int = 5
    batch: int = 8
    steps: int = 60
    page: int = 12
    lr: float = 1e-3


class ClauseModel(nn.Module):
    def __init__(self, s: Settings):
        super().__init__()
        self.words = nn.EmbeddingBag(s.vocabulary, s.width)
        self.hidden = nn.Linear(s.width, s.width)
        self.kind = nn.Linear(s.width, s.types)
        self.cap = nn.Linear(s.width, 1)

    def forward(self, tokens):
        h = torch.tanh(self.hidden(self.words(tokens)))
        return self.kind(h), self.cap(h).squeeze(-1)


def contracts(firm, s: Settings):
    g = torch.Generator().manual_seed(100 + firm)
    for number in range(s.steps):
        tokens = torch.randint(0, s.vocabulary, (s.batch, 20), generator=g)
        kinds = torch.randint(0, s.types, (s.batch,), generator=g)
        caps = torch.rand(s.batch, generator=g)
        annotated = torch.rand(s.batch, generator=g) < 0.6
        annotated[0] = True
        if firm == 2 and 24 <= number < 36:
            annotated[:] = False
        yield tokens, kinds, caps, annotated


def step(model, batch, ledger):
    tokens, kinds, caps, annotated = batch
    kind_logits, cap = model(tokens)
    kind_loss = nn.functional.cross_entropy(kind_logits, kinds)
    cap_loss = ((cap - caps).pow(2) * annotated).sum() / annotated.sum().clamp(min=1)
    ledger.note("kind", kind_loss)
    if annotated.any():
        ledger.note("liability", cap_loss)
    ledger.note("accuracy", (kind_logits.argmax(1) == kinds).float().mean())
    return kind_loss + 0.5 * cap_loss


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    dist.init_process_group("gloo")
    firm, s = dist.get_rank(), Settings()
    torch.manual_seed(0)
    model = DDP(ClauseModel(s))
    optimizer = torch.optim.AdamW(model.parameters(), lr=s.lr)
    ledger = Ledger()
    for number, batch in enumerate(contracts(firm, s), start=1):
        loss = step(model, batch, ledger)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        if number % s.page == 0:
            page = ledger.close()
            if firm == 0:
                log.info("%d %s", number, page)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
