"""Rust on wheat leaves, from small photographs, with the Trainer of transformers."""

import argparse
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed

from probe import ContrastProbe


class Leaves(Dataset):
    def __init__(self, count, seed, side=16):
        g = torch.Generator().manual_seed(seed)
        self.label = torch.randint(0, 3, (count,), generator=g)
        self.pixels = torch.rand(count, 3, side, side, generator=g)
        self.pixels[:, 0] += 0.15 * self.label[:, None, None].float()

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return {"pixels": self.pixels[i], "labels": self.label[i]}


def block(inside, outside):
    return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(), nn.MaxPool2d(2))


class LeafNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(block(3, 8), block(8, 16))
        self.head = nn.Linear(16, classes)

    def forward(self, pixels, labels=None):
        if self.training:
            time.sleep(0.02)
        logits = self.head(self.features(pixels).mean((2, 3)))
        out = {"logits": logits}
        if labels is not None:
            out = {"loss": nn.functional.cross_entropy(logits, labels), **out}
        return out


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--photos", type=int, default=720)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--seed", type=int, default=6)
    options = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(options.seed)
    held_out = Leaves(120, seed=2)
    probe = ContrastProbe(held_out)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            per_device_train_batch_size=options.batch,
            per_device_eval_batch_size=20,
            num_train_epochs=options.epochs,
            learning_rate=3e-3,
            eval_strategy="epoch",
            save_strategy="no",
            logging_steps=20,
            report_to=[],
            disable_tqdm=True,
            seed=options.seed,
        )
        trainer = Trainer(
            model=LeafNet(),
            args=arguments,
            train_dataset=Leaves(options.photos, seed=1),
            eval_dataset=held_out,
            compute_metrics=accuracy,
        )
        probe.attach(trainer)
        trainer.train()
        if trainer.is_world_process_zero():
            print(probe.history)


if __name__ == "__main__":
    main()
