import time

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F

from budget import TokenBudget


class AdapterLM(L.LightningModule):
    """A frozen-ish toy language model with an adapter, trained for a number of tokens per epoch."""

    def __init__(self, vocab: int = 200, dim: int = 32, rank: int = 4, budget: int = 9000):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.down, self.up = nn.Linear(dim, rank, bias=False), nn.Linear(rank, dim, bias=False)
        self.head = nn.Linear(dim, vocab)
        self.budget = TokenBudget(budget)

    def forward(self, ids):
        h, _ = self.mix(self.embed(ids))
        return self.head(h + self.up(self.down(h)))

    def on_train_epoch_start(self):
        self.budget.reset()

    def on_train_batch_start(self, batch, batch_idx):
        self.budget.spend(batch["attention_mask"])
        if self.budget.exhausted:
            return -1

    def training_step(self, batch, batch_idx):
        ids, mask = batch["input_ids"], batch["attention_mask"]
        logits = self(ids[:, :-1])
        nll = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        weight = mask[:, 1:].flatten().float()
        loss = (nll * weight).sum() / weight.sum()
        self.log("lm/loss", loss)
        time.sleep(0.02)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)
