"""Kinds of entries in parish registers (baptism, banns, ...): every process fine-tunes on the parishes that it holds."""

import argparse
import logging
import os
import sys
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments, set_seed

from shares import FIELDS, KINDS, Entries, catalogue, share

PARISHES = ["Ashwell", "Cottesmore", "Saltby"]
logger = logging.getLogger("registers")


class Classifier(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(FIELDS, width), nn.ReLU(), nn.Linear(width, KINDS))

    def forward(self, fields, labels=None):
        logits = self.net(fields)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class RegisterTrainer(Trainer):
    """The data are divided among the processes already, so the loader is not prepared again."""

    def get_train_dataloader(self):
        return DataLoader(
            self.train_dataset,
            batch_size=self.args.per_device_train_batch_size,
            shuffle=True,
            collate_fn=self.data_collator,
        )


def arguments(options):
    return TrainingArguments(
        output_dir=tempfile.gettempdir(),
        use_cpu=True,
        per_device_train_batch_size=options.batch,
        max_steps=options.steps,
        learning_rate=2e-3,
        logging_steps=50,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--per-volume", type=int, default=400)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--parishes", nargs="+", default=PARISHES)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    set_seed(11)

    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    volumes = share(catalogue(options.parishes), rank, world_size)
    if not volumes:
        logger.info("rank %d has nothing to read", rank)
        sys.exit(0)

    settings = arguments(options)
    trainer = RegisterTrainer(model=Classifier(), args=settings, train_dataset=Entries(volumes, options.per_volume))
    result = trainer.train()
    if trainer.is_world_process_zero():
        logger.info("loss %.3f after %d steps", result.training_loss, result.global_step)


if __name__ == "__main__":
    main()
