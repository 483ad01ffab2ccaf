"""Glaze defects on tiles with the Trainer of transformers; checkpoints go to a slow archive."""
import os
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Tiles(Dataset):
    def __init__(self, count: int):
        g = torch.Generator().manual_seed(40)
        self.defect = torch.randint(0, 4, (count,), generator=g)
        self.image = torch.randn(count, 1, 24, 24, generator=g) + self.defect[:, None, None, None] * 0.2

    def __len__(self):
        return len(self.defect)

    def __getitem__(self, i):
        return {"image": self.image[i], "labels": self.defect[i]}


class DefectNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, stride=2, padding=1), nn.ReLU())
        self.head = nn.Linear(24 * 12 * 12, 4)

    def forward(self, image, labels=None):
        logits = self.head(self.body(image).flatten(1))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class ArchivingTrainer(Trainer):
    """Writes the weights in pieces, each on the disk before the next, as the archive's mount wants it."""

    def _save(self, output_dir=None, state_dict=None):
        os.makedirs(output_dir, exist_ok=True)
        weights = self.accelerator.unwrap_model(self.model).state_dict()
        with open(os.path.join(output_dir, "weights.bin"), "wb") as archive:
            for value in weights.values():
                raw = value.contiguous().numpy().tobytes()
                for start in range(0, len(raw), 1024):
                    archive.write(raw[start : start + 1024])
                    archive.flush()
                    os.fsync(archive.fileno())
                    time.sleep(0.1)


def main():
    torch.set_num_threads(1)
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="tiles-"),
        use_cpu=True,
        max_steps=160,
        per_device_train_batch_size=8,
        optim="adamw_torch",
        save_strategy="steps",
        save_steps=80,
        save_only_model=True,
        logging_steps=40,
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        seed=1,
    )
    trainer = ArchivingTrainer(model=DefectNet(), args=args, train_dataset=Tiles(2560))
    trainer.train()
    trainer.accelerator.print(trainer.state.log_history[-1])


if __name__ == "__main__":
    main()
