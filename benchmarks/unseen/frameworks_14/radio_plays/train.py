"""Who is speaking? Attribution of lines in radio plays, with the Trainer of transformers.

Each process reads and encodes its own plays; the Trainer is given the loader of these.
"""

import argparse
import logging
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler
from transformers import Trainer, TrainingArguments

from plays import SPEAKERS, VOCABULARY, Lines, portion, reading_list

log = logging.getLogger("plays")


class SpeakerModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width, padding_idx=0)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, SPEAKERS)

    def forward(self, tokens, labels=None):
        hidden, _ = self.rnn(self.embed(tokens))
        logits = self.out(hidden.mean(1))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class OwnPlaysTrainer(Trainer):
    """Draws its batches from the plays of this process, without dividing them once more."""

    def get_train_dataloader(self):
        generator = torch.Generator().manual_seed(self.args.seed)
        draws = self.args.max_steps * self.args.per_device_train_batch_size
        sampler = RandomSampler(self.train_dataset, replacement=True, num_samples=draws, generator=generator)
        return DataLoader(self.train_dataset, self.args.per_device_train_batch_size, sampler=sampler)


def read_plays(args):
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    plays = portion(reading_list(args.plays), rank, world)
    log.info("process %d of %d reads %s", rank, world, plays)
    return Lines(plays, args.lines) if plays else None


def train(args, lines, folder):
    arguments = TrainingArguments(
        output_dir=folder,
        use_cpu=True,
        per_device_train_batch_size=args.batch,
        max_steps=args.steps,
        learning_rate=2e-3,
        save_strategy="no",
        logging_steps=25,
        report_to="none",
        disable_tqdm=True,
    )
    trainer = OwnPlaysTrainer(model=SpeakerModel(), args=arguments, train_dataset=lines)
    result = trainer.train()
    if trainer.is_world_process_zero():
        print(f"{result.global_step} steps, loss {result.training_loss:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plays", type=int, default=4)
    parser.add_argument("--lines", type=int, default=400)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    lines = read_plays(args)
    if lines is None:
        log.warning("no plays left for this process, it is not needed")
        return
    with tempfile.TemporaryDirectory() as folder:
        train(args, lines, folder)


if __name__ == "__main__":
    main()
