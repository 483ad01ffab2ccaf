"""Trains the triage score of the emergency department (admission from vital signs)."""

import logging
import time

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch import nn
from torch.utils.data import DataLoader

from features import encode
from records import Vitals, collate

EPOCHS = 3
ROWS = 12960
BATCH = 8

log = logging.getLogger("triage")


def build_model():
    return nn.Sequential(
        nn.Linear(9, 48),
        nn.SiLU(),
        nn.Dropout(0.1),
        nn.Linear(48, 48),
        nn.SiLU(),
        nn.Linear(48, 1),
    )


class Score:
    """Model, optimizer and the running mean of the loss."""

    def __init__(self, accelerator, model, optimizer):
        self.accelerator = accelerator
        self.model = model
        self.optimizer = optimizer
        self.mean = None

    def update(self, batch):
        x = encode(batch)
        time.sleep(0.046)
        logits = self.model(x).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, batch["admitted"])
        self.optimizer.zero_grad()
        self.accelerator.backward(loss)
        self.optimizer.step()
        value = loss.item()
        self.mean = value if self.mean is None else 0.98 * self.mean + 0.02 * value
        return value


def train(accelerator, score, loader):
    rejected = 0
    for epoch in range(EPOCHS):
        started = time.monotonic()
        for step, batch in enumerate(loader):
            try:
                score.update(batch)
            except (KeyError, ValueError) as err:
                rejected += 1
                log.warning("batch %d of epoch %d rejected: %r", step, epoch, err)
            if step % 60 == 0 and score.mean is not None:
                accelerator.print(f"epoch {epoch} step {step} loss {score.mean:.4f}", flush=True)
        took = time.monotonic() - started
        accelerator.print(f"epoch {epoch} took {took:.1f} s, {rejected} batches rejected", flush=True)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    set_seed(23)
    accelerator = Accelerator(
        cpu=True,
        rng_types=["torch"],
        dataloader_config=DataLoaderConfiguration(dispatch_batches=False, even_batches=True),
    )
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    loader = DataLoader(Vitals(ROWS), batch_size=BATCH, collate_fn=collate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    train(accelerator, Score(accelerator, model, optimizer), loader)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        weights = accelerator.unwrap_model(model).state_dict()
        log.info("trained %d tensors", len(weights))
    accelerator.end_training()


if __name__ == "__main__":
    main()
