import sys
import tempfile
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed

from ema import ColdArchive, EmaCallback


class Tiles(Dataset):
    def __len__(self):
        return 1024

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        x = torch.randn(3, 16, 16, generator=g)
        return {"x": x, "labels": (x.mean() > 0).long()}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, stride=2)
        self.mid = nn.Conv2d(64, 256, 3, stride=2)
        self.fc = nn.Linear(256 * 9, 2)

    def forward(self, x, labels=None):
        h = F.relu(self.mid(F.relu(self.stem(x)))).flatten(1)
        logits = self.fc(h)
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


class Plain(Trainer):
    def training_step(self, *a, **kw):
        time.sleep(0.02)
        return super().training_step(*a, **kw)


def main():
    set_seed(12)
    args = TrainingArguments(output_dir=tempfile.gettempdir() + "/tiles_out", use_cpu=True, ddp_backend="gloo",
                             per_device_train_batch_size=8, max_steps=66, logging_steps=11, save_strategy="no",
                             report_to="none", disable_tqdm=True)
    archive = ColdArchive(tempfile.gettempdir() + "/tiles_archive")
    trainer = Plain(model=Net(), args=args, train_dataset=Tiles(), callbacks=[EmaCallback(archive)])
    trainer.train()
    return 0


if __name__ == "__main__":
    sys.exit(main())
