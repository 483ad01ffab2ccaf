import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import IterableDataset
from transformers import Trainer, TrainingArguments

from tracking import RelayCallback


class SensorStream(IterableDataset):
    def __init__(self, n, channels=6, length=24):
        self.n, self.channels, self.length = n, channels, length

    def __iter__(self):
        g = torch.Generator().manual_seed(77)
        for _ in range(self.n):
            x = torch.randn(self.channels, self.length, generator=g)
            yield {"signal": x, "labels": x.mean(-1)}


class Forecaster(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(channels, 24, 5), nn.ReLU(), nn.Conv1d(24, 24, 5), nn.ReLU())
        self.out = nn.Linear(24, channels)

    def forward(self, signal, labels):
        time.sleep(0.02)
        prediction = self.out(self.conv(signal).mean(-1))
        return F.mse_loss(prediction, labels), prediction


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_steps", type=int, default=100)
    parser.add_argument("--run", default="pump-station-7")
    cli = parser.parse_args()
    torch.manual_seed(0)
    training = TrainingArguments(
        output_dir="/tmp/forecaster_out", use_cpu=True, ddp_backend="gloo", max_steps=cli.max_steps,
        per_device_train_batch_size=8, logging_steps=2, save_strategy="no", report_to=[], disable_tqdm=True,
        ddp_find_unused_parameters=False,
    )
    trainer = Trainer(model=Forecaster(), args=training, train_dataset=SensorStream(4000),
                      callbacks=[RelayCallback(cli.run)])
    trainer.train()
