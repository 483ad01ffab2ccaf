"""Multi-task property prediction for small molecules."""
import argparse
import os

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

from assays import AssayTable, collate


class PropertyNet(L.LightningModule):
    def __init__(self, tasks, bits=32, width=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(bits, width), nn.SiLU(), nn.Linear(width, width))
        self.head = nn.Linear(width, len(tasks))
        self.tasks = list(tasks)

    def training_step(self, batch, batch_idx):
        fingerprint, target, known = batch
        pred = self.head(self.trunk(fingerprint))
        error = (pred - target).square() * known
        loss = error.sum() / known.sum().clamp(min=1)
        measured = known.sum(0)
        for i, task in enumerate(self.tasks):
            if measured[i] > 0:
                value = error[:, i].detach().sum() / measured[i]
                self.log(f"loss/{task}", value, sync_dist=True, batch_size=len(error))
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--molecules", type=int, default=960)
    return p.parse_args()


def main():
    args = parse()
    L.seed_everything(3)
    table = AssayTable(args.molecules)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)),
        strategy="ddp",
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    loader = DataLoader(table, batch_size=args.batch_size, shuffle=False, collate_fn=collate)
    trainer.fit(PropertyNet(table.tasks), loader)
    if trainer.is_global_zero:
        print({k: round(float(v), 4) for k, v in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
