"""Urgency of pothole reports with the Trainer, in the order in which the reports came."""

import argparse
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import SequentialSampler
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from ledger import Ledger, StepClock
from reports import URGENCY, WORDS, Collator, Reports


class UrgencyNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.words = nn.EmbeddingBag(WORDS, width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, len(URGENCY)))

    def forward(self, words, labels=None):
        logits = self.head(self.words(words))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}


class RoadTrainer(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(self.train_dataset)

    def training_step(self, *args, **kwargs):
        time.sleep(0.03)
        return super().training_step(*args, **kwargs)


class KeepLedger(TrainerCallback):
    def __init__(self, ledger, every=10):
        self.ledger = ledger
        self.every = every
        self.clock = StepClock()

    def on_step_end(self, args, state, control, **kwargs):
        took = self.clock.tick()
        if state.global_step % self.every == 0:
            self.ledger.note(step=state.global_step, seconds=round(took, 3))

    def on_log(self, args, state, control, logs=None, **kwargs):
        if logs and "loss" in logs:
            self.ledger.note(step=state.global_step, loss=logs["loss"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reports", type=int, default=4800)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--ledger", default=f"{tempfile.gettempdir()}/pothole_reports.jsonl")
    options = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(15)
    args = TrainingArguments(
        output_dir=tempfile.gettempdir(),
        num_train_epochs=options.epochs,
        per_device_train_batch_size=options.batch,
        learning_rate=3e-3,
        logging_steps=20,
        save_strategy="no",
        report_to="none",
        remove_unused_columns=False,
        use_cpu=True,
        ddp_backend="gloo",
        disable_tqdm=True,
    )
    trainer = RoadTrainer(
        model=UrgencyNet(),
        args=args,
        data_collator=Collator(),
        train_dataset=Reports(options.reports, seed=3),
        callbacks=[KeepLedger(Ledger(options.ledger))],
    )
    trainer.train()


if __name__ == "__main__":
    main()
