"""Fine-tunes a small next-token model on dialogues; an update covers about the same number of target tokens."""

import time
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch import nn
from torch.utils.data import DataLoader

from corpus import IGNORE, LENGTH, VOCAB, Dialogues
from window import TokenWindow

BATCH = 8
ROWS = 26880
GOAL = 2 * BATCH * LENGTH


class NextToken(nn.Module):
    def __init__(self, dim=32, span=4):
        super().__init__()
        self.span = span
        self.embed = nn.Embedding(VOCAB, dim)
        self.mix = nn.Conv1d(dim, dim, span)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, tokens):
        h = self.embed(tokens)
        past = F.pad(h.transpose(1, 2), (self.span - 1, 0))
        return self.out(self.norm(h + F.gelu(self.mix(past)).transpose(1, 2)))


class FineTuning:
    def __init__(self):
        self.accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(dispatch_batches=False))
        model = NextToken()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        loader = DataLoader(Dialogues(ROWS), batch_size=BATCH, drop_last=True)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.window = TokenWindow(GOAL)

    def loss(self, batch):
        time.sleep(0.043)
        logits = self.model(batch["tokens"])
        return F.cross_entropy(
            logits.flatten(0, 1), batch["targets"].flatten(), ignore_index=IGNORE, reduction="sum"
        )

    def epoch(self):
        total = torch.zeros(2)
        for i, batch in enumerate(self.loader):
            tokens = int((batch["targets"] != IGNORE).sum())
            closes = self.window.add(tokens)
            with nullcontext() if closes else self.accelerator.no_sync(self.model):
                loss = self.loss(batch)
                self.accelerator.backward(loss / GOAL)
            total += torch.tensor([loss.item(), tokens])
            if closes:
                self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.optimizer.zero_grad()
            if i % 40 == 0:
                self.accelerator.print(
                    f"batch {i}, update {self.window.updates}, nll {(total[0] / total[1]).item():.4f}", flush=True
                )
        return total

    def run(self, epochs):
        for n in range(epochs):
            totals = self.accelerator.gather(self.epoch()).view(-1, 2)
            nll = (totals[:, 0].sum() / totals[:, 1].sum()).item()
            self.accelerator.print(f"epoch {n}: nll {nll:.4f} after {self.window.updates} updates", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    set_seed(5)
    job = FineTuning()
    job.run(epochs=2)
    job.accelerator.end_training()
