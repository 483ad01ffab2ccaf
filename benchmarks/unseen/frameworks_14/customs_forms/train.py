"""Which parcels does customs hold back? A small model on the forms, with the Trainer of transformers."""

import argparse
import tempfile
import time

import torch
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed

from forms import Forms
from parsing import BUCKETS, FormCollator


class HoldModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.words = nn.EmbeddingBag(BUCKETS, width, padding_idx=0)
        self.numbers = nn.Linear(2, width)
        self.out = nn.Sequential(nn.GELU(), nn.Linear(width, 2))

    def forward(self, ids, numbers, labels=None):
        logits = self.out(self.words(ids) + self.numbers(numbers))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}


class CounterTrainer(Trainer):
    """Takes its time for a step, as the office's machine is also used for the counter."""

    def training_step(self, *args, **kwargs):
        time.sleep(0.05)
        return super().training_step(*args, **kwargs)


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--forms", type=int, default=2400)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(9)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            per_device_train_batch_size=args.batch,
            per_device_eval_batch_size=32,
            num_train_epochs=args.epochs,
            learning_rate=3e-3,
            train_sampling_strategy="sequential",
            remove_unused_columns=False,
            eval_strategy="epoch",
            save_strategy="no",
            logging_steps=20,
            report_to="none",
            disable_tqdm=True,
        )
        trainer = CounterTrainer(
            model=HoldModel(),
            args=arguments,
            train_dataset=Forms(args.forms, seed=1, amended=(827,)),
            eval_dataset=Forms(args.forms // 8, seed=2),
            data_collator=FormCollator(),
            compute_metrics=accuracy,
        )
        trainer.train()
        metrics = trainer.evaluate()
    if trainer.is_world_process_zero():
        print({name: round(value, 4) for name, value in metrics.items()})


if __name__ == "__main__":
    main()
