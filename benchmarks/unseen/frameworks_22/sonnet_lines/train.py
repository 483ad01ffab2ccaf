"""Which metre is a verse in? A small attention model with the Trainer."""

import argparse
import tempfile
import time

import torch
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed

from journal import CsvJournal
from verses import LENGTH, METRES, SYLLABLES, Verses, collate


class Scansion(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.syllables = nn.Embedding(SYLLABLES, width)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, width))
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.head = nn.Linear(width, len(METRES))

    def forward(self, input_ids, labels=None):
        x = self.syllables(input_ids) + self.places
        x = x + self.attention(x, x, x, need_weights=False)[0]
        logits = self.head(x.mean(1))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}


class SlowReader(Trainer):
    """Verses are scanned from paper in the real thing; here a step just takes its time."""

    def __init__(self, *args, pause=0.02, **kwargs):
        super().__init__(*args, **kwargs)
        self.pause = pause

    def training_step(self, *args, **kwargs):
        time.sleep(self.pause)
        return super().training_step(*args, **kwargs)


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(8)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder,
            max_steps=options.steps,
            per_device_train_batch_size=options.batch,
            learning_rate=options.lr,
            logging_steps=25,
            eval_strategy="steps",
            eval_steps=150,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            ddp_backend="gloo",
            disable_tqdm=True,
        )
        trainer = SlowReader(
            model=Scansion(),
            args=args,
            data_collator=collate,
            train_dataset=Verses(2400, seed=1),
            eval_dataset=Verses(240, seed=2),
            compute_metrics=accuracy,
            callbacks=[CsvJournal(f"{folder}/run.csv")],
        )
        trainer.train()


if __name__ == "__main__":
    main()
