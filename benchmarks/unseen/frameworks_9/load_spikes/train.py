"""Short-term load forecast for a grid area with the Trainer of transformers (three workers, CPU)."""
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

from callbacks import EvaluateOnSpike, LossTape

HOURS = 12000
METER_FAULT = range(3857, 3862)  # readings of the feeder came in as kW instead of MW


class HourlyLoad(Dataset):
    """Calendar and weather of an hour, and the load that was metered."""

    def __init__(self, start: int, stop: int):
        g = torch.Generator().manual_seed(8)
        hour = torch.arange(HOURS).float()
        temperature = 10 + 8 * torch.sin(hour / 700) + torch.randn(HOURS, generator=g)
        day, week = hour * (2 * torch.pi / 24), hour * (2 * torch.pi / 168)
        self.features = torch.stack(
            [day.sin(), day.cos(), (2 * day).sin(), week.sin(), week.cos(), (temperature - 10) / 8], dim=1
        )
        load = 1.0 + 0.4 * day.sin() - 0.2 * self.features[:, 5] + 0.1 * torch.randn(HOURS, generator=g)
        for t in METER_FAULT:
            load[t] *= 1000.0
        self.load = load
        self.start, self.stop = start, stop

    def __len__(self):
        return self.stop - self.start

    def __getitem__(self, i):
        t = self.start + i
        return {"features": self.features[t], "labels": self.load[t]}


class Forecaster(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, 1)

    def forward(self, features, labels=None):
        load = self.head(self.net(features)).squeeze(-1)
        out = {"load": load}
        if labels is not None:
            out = {"loss": nn.functional.mse_loss(load, labels), **out}
        return out


class LoadTrainer(Trainer):
    def __init__(self, *args, tape, **kwargs):
        super().__init__(*args, **kwargs)
        self.tape = tape

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, outputs = super().compute_loss(
            model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch
        )
        if model.training:
            time.sleep(0.03)
            self.tape.write(loss.item())
        return (loss, outputs) if return_outputs else loss


def main():
    torch.set_num_threads(1)
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="load-"),
        use_cpu=True,
        max_steps=400,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=32,
        train_sampling_strategy="sequential",
        learning_rate=2e-3,
        optim="adamw_torch",
        logging_steps=50,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        seed=4,
    )
    tape = LossTape(window=40)
    trainer = LoadTrainer(
        model=Forecaster(),
        args=args,
        train_dataset=HourlyLoad(0, 9600),
        eval_dataset=HourlyLoad(9600, HOURS),
        callbacks=[EvaluateOnSpike(tape, factor=50.0)],
        tape=tape,
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
