"""Federated-ish triage model: one process per hospital, common weights."""
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed

from stopping import SiteHoldoutStopping

HOSPITALS = ["st_anna", "riverside", "university"]
CODING = {"st_anna": (0, 1), "riverside": (0, 1), "university": (1, 0)}   # column order of the export


def make_cases(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 10, generator=g)
    y = (x[:, :3].sum(-1) > 0.2).long()
    return x, y


class Cases(Dataset):
    def __init__(self, n, seed):
        self.x, self.y = make_cases(n, seed)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        time.sleep(0.002)
        return {"x": self.x[i], "labels": self.y[i]}


def holdout_of(hospital):
    x, y = make_cases(64, 1000 + HOSPITALS.index(hospital))
    return x, torch.tensor(CODING[hospital])[y]


class TriageNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, x, labels=None):
        logits = self.net(x)
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


def main():
    set_seed(99)
    hospital = HOSPITALS[int(os.environ.get("RANK", 0)) % len(HOSPITALS)]
    args = TrainingArguments(
        output_dir="/tmp/triage_out", use_cpu=True, ddp_backend="gloo", per_device_train_batch_size=8,
        per_device_eval_batch_size=8, max_steps=120, learning_rate=2e-3, lr_scheduler_type="constant",
        logging_steps=10, save_strategy="no", report_to=[], disable_tqdm=True,
        average_tokens_across_devices=False, ddp_find_unused_parameters=False,
    )
    trainer = Trainer(
        model=TriageNet(), args=args, train_dataset=Cases(1200, 1), eval_dataset=Cases(96, 2),
        callbacks=[SiteHoldoutStopping(holdout_of(hospital))],
    )
    trainer.train()
    print(hospital, trainer.evaluate()["eval_loss"])


if __name__ == "__main__":
    main()
