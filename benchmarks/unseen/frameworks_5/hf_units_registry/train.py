"""Predicts a laboratory value from the values of the same patient (synthetic)."""
import random
import tempfile
import time

import torch
from transformers import Trainer, TrainingArguments

from registry import registered

FACTORS = {"mg/dl": 1.0, "mmol/l": 18.0, "g/l": 100.0}


def cohort(patients=480, seed=11):
    rng = random.Random(seed)
    rows = []
    for _ in range(patients):
        unit = rng.choice(sorted(FACTORS))
        rows.append({"unit": unit, "values": [rng.uniform(0.5, 2.0) / FACTORS[unit] for _ in range(8)],
                     "target": rng.random()})
    rows[234]["unit"] = "mg%"  # a clinic's own way to write it
    return rows


class Collator:
    def __call__(self, rows):
        scaled = [[v * FACTORS[row["unit"]] for v in row["values"]] for row in rows]
        return {"values": torch.tensor(scaled), "labels": torch.tensor([row["target"] for row in rows])}


class Regressor(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 1))

    def forward(self, values, labels=None):
        time.sleep(0.015)
        predicted = self.body(values).squeeze(-1)
        return {"loss": torch.nn.functional.huber_loss(predicted, labels), "logits": predicted}


class OrderedTrainer(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return torch.utils.data.SequentialSampler(self.train_dataset)


def main():
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="lab_"), per_device_train_batch_size=4, max_steps=30,
        logging_steps=10, save_strategy="no", report_to="none", remove_unused_columns=False,
        disable_tqdm=True, use_cpu=True,
    )
    trainer = OrderedTrainer(model=Regressor(), args=args, train_dataset=cohort(), data_collator=Collator())
    with registered(trainer) as entry:
        result = trainer.train()
        entry["loss"] = result.training_loss


if __name__ == "__main__":
    main()
