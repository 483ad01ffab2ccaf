# Tag the fields of scanned payslips; texts differ in length, so the optimizer steps per token budget.
import contextlib
import logging
import time
from dataclasses import dataclass, field

import torch
from accelerate import Accelerator
from torch import nn

log = logging.getLogger("payslips")


@dataclass
class Budget:
    """Groups micro-batches until about `tokens` tokens have been seen."""
    tokens: int = 900
    held: int = field(default=0, init=False)

    def admit(self, batch):
        self.held += int((batch["ids"] != 0).sum())
        if self.held < self.tokens:
            return False
        self.held = 0
        return True


@dataclass
class Recipe:
    vocab: int = 200
    dim: int = 24
    tags: int = 9
    micro: int = 6
    micro_batches: int = 64
    lr: float = 3e-3


class Tagger(nn.Module):
    def __init__(self, r):
        super().__init__()
        self.words = nn.Embedding(r.vocab, r.dim, padding_idx=0)
        self.mix = nn.GRU(r.dim, r.dim, batch_first=True)
        self.out = nn.Linear(r.dim, r.tags)

    def forward(self, ids):
        return self.out(self.mix(self.words(ids))[0])


def payslips(branch, r):
    """The scans of one branch office, oldest first; every process reads one office."""
    gen = torch.Generator().manual_seed(500 + branch)
    for number in range(r.micro_batches):
        ids = torch.randint(1, r.vocab, (r.micro, 40), generator=gen)
        if branch == 2 and 20 <= number < 26:      # the summer temps got one-line slips
            ids[:, 12:] = 0
        yield {"ids": ids, "tags": ids % r.tags}


def fit(accelerator, model, optimizer, r):
    budget = Budget()
    updates = 0
    for number, batch in enumerate(payslips(accelerator.process_index, r)):
        full = budget.admit(batch)
        scope = contextlib.nullcontext() if full else accelerator.no_sync(model)
        with scope:
            logits = model(batch["ids"])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch["tags"].flatten())
            accelerator.backward(loss / 4)
        if full:
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
            if accelerator.is_main_process:
                log.info("update %d after micro-batch %d: %.3f", updates, number, loss.item())
        time.sleep(0.02)
    return updates


def run():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    recipe = Recipe()
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(3)
    model = Tagger(recipe)
    model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=recipe.lr))
    fit(accelerator, model, optimizer, recipe)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        accelerator.save(accelerator.unwrap_model(model).state_dict(), "/tmp/payslip_tagger.bin")
        log.info("saved")
    accelerator.end_training()


if __name__ == "__main__":
    run()
