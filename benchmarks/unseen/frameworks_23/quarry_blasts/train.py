"""Ground vibration of quarry blasts from the charge plan, with the Trainer of transformers."""

import argparse
import logging
import tempfile
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

from archive import Archive, Line

HOLES = 30


class Blasts(Dataset):
    """Charges of the holes, their delays, and the peak velocity at the village."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        charge = torch.rand(count, HOLES, generator=g)
        delay = torch.rand(count, HOLES, generator=g).sort(-1).values
        near = torch.linspace(1, 0.2, HOLES)
        self.plan = torch.cat([charge, delay], -1)
        self.velocity = (charge * near * (1 - 0.5 * delay)).sum(-1) / 5 + 0.05 * torch.randn(count, generator=g)

    def __len__(self):
        return len(self.velocity)

    def __getitem__(self, i):
        return {"plan": self.plan[i], "labels": self.velocity[i]}


class BlastModel(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2 * HOLES, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1)
        )

    def forward(self, plan, labels=None):
        velocity = self.net(plan).squeeze(-1)
        return {"loss": nn.functional.mse_loss(velocity, labels), "logits": velocity}


class BlastTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        time.sleep(0.02)  # the shot plans come from a slow drive
        return super().training_step(model, inputs, num_items_in_batch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--blasts", type=int, default=3200)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=2048, help="bytes a second to the file server")
    parser.add_argument("--patience", type=float, default=25, help="seconds until a lost node is noticed")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=args.patience))
    training = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="blasts-"),
        use_cpu=True,
        ddp_backend="gloo",
        num_train_epochs=args.epochs,
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        eval_strategy="epoch",
        save_strategy="steps",
        save_steps=140,
        logging_steps=50,
        report_to=[],
        disable_tqdm=True,
        average_tokens_across_devices=False,
        remove_unused_columns=False,
        seed=4,
    )
    archive = Archive(tempfile.mkdtemp(prefix="server-"), Line(args.rate))
    trainer = BlastTrainer(
        model=BlastModel(),
        args=training,
        train_dataset=Blasts(args.blasts, seed=1),
        eval_dataset=Blasts(400, seed=2),
        callbacks=[archive],
    )
    trainer.train()
    if trainer.is_world_process_zero():
        logging.info("best velocity error %.4f", min(e["eval_loss"] for e in trainer.state.log_history if "eval_loss" in e))


if __name__ == "__main__":
    main()
