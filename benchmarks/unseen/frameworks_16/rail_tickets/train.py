"""Demand for rail tickets of the next day, by relation; the Trainer of transformers."""

import argparse
import logging
import os
import tempfile
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed

from audit import AuditCheckpoints

DAYS = 28


class Relations(Dataset):
    """Four weeks of ticket sales of a relation, and the day after."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        level = torch.rand(count, 1, generator=g) * 2
        phase = torch.rand(count, 1, generator=g) * 7
        days = torch.arange(DAYS + 1.0)
        series = level + torch.sin((days + phase) * 2 * torch.pi / 7)
        self.series = series + 0.1 * torch.randn(series.shape, generator=g)

    def __len__(self):
        return len(self.series)

    def __getitem__(self, i):
        time.sleep(0.001)
        return {"sales": self.series[i, :-1], "labels": self.series[i, -1]}


class Demand(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(DAYS, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1)
        )

    def forward(self, sales, labels=None):
        forecast = self.net(sales).squeeze(-1)
        return {"loss": nn.functional.mse_loss(forecast, labels), "logits": forecast}


def settings(args):
    run = os.environ.get("TORCHELASTIC_RUN_ID", "single")
    return TrainingArguments(
        output_dir=str(Path(tempfile.gettempdir()) / f"tickets-{run}"),
        max_steps=args.steps,
        per_device_train_batch_size=args.batch,
        learning_rate=2e-3,
        save_strategy="steps",
        save_steps=args.save_steps,
        save_total_limit=3,
        logging_steps=20,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        ddp_backend="gloo",
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--relations", type=int, default=3600)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--save-steps", type=int, default=60)
    parser.add_argument("--width", type=int, default=160)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    set_seed(9)
    trainer = Trainer(
        Demand(args.width),
        settings(args),
        train_dataset=Relations(args.relations, seed=1),
        callbacks=[AuditCheckpoints()],
    )
    trainer.train()


if __name__ == "__main__":
    main()
