"""The length of a crossword's answer from its clue, with the Trainer of transformers."""

import argparse
import logging
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed

from probes import Probe, ProbeCallback

LETTERS = 27
LENGTH = 32
LONGEST = 9


class Clues(Dataset):
    """Clues as letters; the harder the clue, the less of its answer is in it."""

    def __init__(self, count, seed, hardness):
        g = torch.Generator().manual_seed(seed)
        self.answers = torch.randint(3, LONGEST + 1, (count,), generator=g)
        self.clues = torch.randint(1, LETTERS, (count, LENGTH), generator=g)
        for clue, answer in zip(self.clues, self.answers.tolist(), strict=True):
            hint = torch.rand(LENGTH, generator=g) > hardness
            clue[hint] = 2 * answer + clue[hint] % 2

    def __len__(self):
        return len(self.answers)

    def __getitem__(self, i):
        return {"clue": self.clues[i], "labels": self.answers[i]}


class AnswerLength(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embed = nn.Embedding(LETTERS, width)
        self.conv = nn.Conv1d(width, width, 3, padding=1)
        self.out = nn.Linear(width, LONGEST + 1)

    def forward(self, clue, labels=None):
        hidden = torch.relu(self.conv(self.embed(clue).transpose(1, 2))).mean(-1)
        logits = self.out(hidden)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class ClueTrainer(Trainer):
    def training_step(self, *args, **kwargs):
        time.sleep(0.02)
        return super().training_step(*args, **kwargs)


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clues", type=int, default=1440)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--probe-after", type=int, default=3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    set_seed(21)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            per_device_train_batch_size=12,
            per_device_eval_batch_size=32,
            num_train_epochs=args.epochs,
            learning_rate=5e-3,
            save_strategy="no",
            logging_steps=50,
            report_to="none",
            disable_tqdm=True,
        )
        trainer = ClueTrainer(
            model=AnswerLength(),
            args=arguments,
            train_dataset=Clues(args.clues, seed=1, hardness=0.6),
            eval_dataset=Clues(args.clues // 6, seed=2, hardness=0.6),
            compute_metrics=accuracy,
        )
        cryptic = Probe("cryptic", Clues(192, seed=3, hardness=0.85))
        weekend = Probe("weekend", Clues(96, seed=4, hardness=0.75))
        ProbeCallback([cryptic, weekend], args.probe_after).attach(trainer)
        trainer.train()
        metrics = trainer.evaluate()
    if trainer.is_world_process_zero():
        print(f"{trainer.state.global_step} steps, accuracy {metrics['eval_accuracy']:.3f}")


if __name__ == "__main__":
    main()
