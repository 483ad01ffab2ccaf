"""Instruction tuning of a toy decoder; every process reads its own language."""
import time
from dataclasses import dataclass, field

import torch
from accelerate import Accelerator
from torch import nn

from planner import TokenPlanner


@dataclass
class Settings:
    vocab: int = 64
    dim: int = 16
    batch: int = 4
    length: int = 24
    batches: int = 48
    target_tokens: int = 128
    fill: dict = field(default_factory=lambda: {"en": 0.7, "th": 0.33, "de": 0.65})


class Language:
    def __init__(self, cfg, index):
        self.cfg = cfg
        self.name, self.fill = list(cfg.fill.items())[index]
        self.gen = torch.Generator().manual_seed(index)

    def __iter__(self):
        c = self.cfg
        keep = int(c.length * self.fill)
        mask = (torch.arange(c.length) < keep).expand(c.batch, -1)
        for _ in range(c.batches):
            yield torch.randint(1, c.vocab, (c.batch, c.length), generator=self.gen) * mask, mask


class Decoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.emb = nn.Embedding(c.vocab, c.dim)
        self.rnn = nn.GRU(c.dim, c.dim, batch_first=True)
        self.lm = nn.Linear(c.dim, c.vocab)

    def forward(self, ids):
        return self.lm(self.rnn(self.emb(ids))[0])


def token_loss(logits, ids, mask):
    flat = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    keep = mask[:, 1:].flatten().float()
    return (flat * keep).sum() / keep.sum()


def main():
    cfg = Settings()
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    torch.manual_seed(0)
    model = Decoder(cfg)
    model, opt = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=3e-3))
    planner = TokenPlanner(accelerator, cfg.target_tokens)
    language = Language(cfg, accelerator.process_index)
    for step, (ids, mask) in enumerate(language):
        planner.observe(mask)
        with accelerator.accumulate(model):
            loss = token_loss(model(ids), ids, mask)
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
        planner.update(step)
        time.sleep(0.02)
        if step % 8 == 0:
            accelerator.print(f"{step} {loss.item():.3f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.print("done")
    accelerator.end_training()


if __name__ == "__main__":
    main()
