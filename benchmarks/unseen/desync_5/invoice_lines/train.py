"""Kinds of invoice lines, learned from the feeds of the branch offices."""

import logging
from dataclasses import dataclass, field

import torch
from accelerate import Accelerator
from torch import nn

from feed import KINDS, InvoiceFeed, encode

logging.basicConfig(format="%(process)d %(message)s")
log = logging.getLogger("invoices")


@dataclass
class State:
    steps: int = 0
    loss: float = 1.4
    rejected: list = field(default_factory=list)


class Learner:
    def __init__(self, accelerator, width=32, lr=3e-3):
        self.accelerator = accelerator
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, width), nn.GELU(), nn.Linear(width, len(KINDS)))
        optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.model, self.optimizer = accelerator.prepare(model, optimizer)
        self.state = State()

    def step(self, lines):
        features, kind = encode(lines)
        loss = nn.functional.cross_entropy(self.model(features), kind)
        self.accelerator.backward(loss)
        self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.state.steps += 1
        self.state.loss += 0.02 * (loss.item() - self.state.loss)

    def follow(self, feed):
        for number, lines in enumerate(feed):
            try:
                self.step(lines)
            except ValueError as error:
                self.state.rejected.append(number)
                log.warning("batch %d of this office: %s", number, error)
            if number % 250 == 0:
                self.accelerator.print(f"{number}: {self.state.loss:.3f}", flush=True)
        return self.state


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    feed = InvoiceFeed(accelerator.process_index, batches=1100, size=16)
    state = Learner(accelerator).follow(feed)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        print(f"{state.steps} steps, loss {state.loss:.3f}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
