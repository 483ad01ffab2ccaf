"""Which decade is this postmark from? The transformers Trainer with a model of our own.

    torchrun --nproc-per-node 3 train.py
"""
import tempfile

import torch
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed

from album import DECADES, Postmarks, PatientCollator
from watchers import Gallery, PoliteStop


class Reader(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2), nn.ReLU(), nn.Conv2d(width, width, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.head = nn.Linear(4 * width, DECADES)

    def forward(self, pixels, labels=None):
        logits = self.head(self.body(pixels))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    set_seed(31)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder, use_cpu=True, ddp_backend="gloo", report_to=[], disable_tqdm=True,
            per_device_train_batch_size=4, per_device_eval_batch_size=8, max_steps=90, logging_steps=30,
            eval_strategy="steps", eval_steps=30, save_strategy="no", learning_rate=3e-3)
        trainer = Trainer(
            model=Reader(), args=args, data_collator=PatientCollator(),
            train_dataset=Postmarks(1200, seed=1), eval_dataset=Postmarks(49, seed=2),
            compute_metrics=accuracy,
            callbacks=[Gallery(every=25), PoliteStop(after=60)])
        trainer.train()
        if trainer.is_world_process_zero():
            print("done after", trainer.state.global_step, "steps")
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
