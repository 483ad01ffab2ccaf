"""Yield of fields from weather series with the Trainer; every checkpoint is published from the first process."""
import tempfile
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import EarlyStoppingCallback, Trainer, TrainingArguments

from publishing import PublishCheckpoints


class Fields(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.weather = torch.randn(count, 24, 5, generator=g)
        self.harvest = self.weather[:, 6:14, 0].mean(1) - self.weather[:, 10:, 1].mean(1)

    def __len__(self):
        return len(self.harvest)

    def __getitem__(self, i):
        return {"weather": self.weather[i], "labels": self.harvest[i]}


class YieldModel(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.series = nn.GRU(5, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, weather, labels=None):
        harvest = self.out(self.series(weather)[1][-1]).squeeze(1)
        if labels is None:
            return {"harvest": harvest}
        return {"loss": nn.functional.mse_loss(harvest, labels), "harvest": harvest}


def report(prediction):
    started = time.monotonic()
    error = prediction.predictions - prediction.label_ids
    draws = torch.randint(0, len(error), (400, len(error)), generator=torch.Generator().manual_seed(0))
    spread = [float((error[draw.numpy()] ** 2).mean()) for draw in draws]
    while time.monotonic() - started < 1.0:
        time.sleep(0.05)  # the agronomy service is asked for reference yields at most once in a second
    return {"mse": float((error**2).mean()), "mse_spread": max(spread) - min(spread)}


def main():
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp(prefix="crops-"))
    args = TrainingArguments(
        output_dir=str(folder / "run"),
        use_cpu=True,
        max_steps=120,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=50,
        gradient_accumulation_steps=2,
        learning_rate=3e-3,
        logging_steps=20,
        eval_strategy="steps",
        eval_steps=40,
        save_strategy="steps",
        save_steps=40,
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="mse",
        greater_is_better=False,
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        seed=5,
    )
    trainer = Trainer(
        model=YieldModel(),
        args=args,
        train_dataset=Fields(2400, 1),
        eval_dataset=Fields(300, 2),
        compute_metrics=report,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=3), PublishCheckpoints(folder / "archive")],
    )
    trainer.train()
    if trainer.is_world_process_zero():
        print(f"best {trainer.state.best_metric:.4f} at {trainer.state.best_model_checkpoint}")


if __name__ == "__main__":
    main()
