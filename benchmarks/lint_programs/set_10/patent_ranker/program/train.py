import argparse
import os

import torch
import torch.nn.functional as F
import yaml
from lightning.fabric import Fabric
from lightning.fabric.strategies import FSDPStrategy
from torch import nn
from torch.utils.data import DataLoader

from data import PatentTriples
from model import Ranker


class RankTrainer:
    def __init__(self, fabric, cfg):
        self.fabric = fabric
        self.cfg = cfg
        train_loader = DataLoader(
            PatentTriples(cfg["train_size"], cfg["seed"]),
            cfg["batch_size"],
            shuffle=True,
            drop_last=True,
            num_workers=2,
        )
        val_loader = DataLoader(
            PatentTriples(cfg["val_size"], cfg["seed"] + 1), cfg["batch_size"], drop_last=True
        )
        self.train_loader, self.val_loader = fabric.setup_dataloaders(train_loader, val_loader)
        with fabric.init_module():
            model = Ranker()
        self.model = fabric.setup_module(model)
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg["lr"])
        self.optimizer = fabric.setup_optimizers(optimizer)
        self.step = 0

    def set_lr(self):
        scale = min(1.0, (self.step + 1) / self.cfg["warmup_steps"])
        for group in self.optimizer.param_groups:
            group["lr"] = self.cfg["lr"] * scale

    def train_epoch(self, epoch):
        self.model.train()
        for query, pos, neg in self.train_loader:
            self.set_lr()
            loss = F.softplus(-self.model(query, pos, neg)).mean()
            self.fabric.backward(loss)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["max_norm"])
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.step += 1
            if self.step % 50 == 0:
                mean = self.fabric.all_reduce(loss.detach(), reduce_op="mean")
                self.fabric.print(f"epoch {epoch} step {self.step}: loss {mean.item():.4f}")

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        counts = torch.zeros(2, device=self.fabric.device)
        for query, pos, neg in self.val_loader:
            margin = self.model(query, pos, neg)
            counts[0] += (margin > 0).sum()
            counts[1] += margin.numel()
        counts = self.fabric.all_reduce(counts, reduce_op="sum")
        return (counts[0] / counts[1]).item()

    def save(self, epoch):
        state = {"model": self.model, "optimizer": self.optimizer, "epoch": epoch, "step": self.step}
        self.fabric.save(os.path.join(self.cfg["out"], f"epoch{epoch}.ckpt"), state)

    def fit(self):
        for epoch in range(self.cfg["epochs"]):
            self.train_epoch(epoch)
            acc = self.validate()
            self.fabric.print(f"epoch {epoch}: pair accuracy {acc:.4f}")
            self.save(epoch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    args = parser.parse_args()
    with open(args.config) as f:
        cfg = yaml.safe_load(f)

    strategy = FSDPStrategy(
        auto_wrap_policy={nn.TransformerEncoderLayer},
        state_dict_type="full",
    )
    fabric = Fabric(
        accelerator="cuda", devices=cfg["devices"], strategy=strategy, precision=cfg["precision"]
    )
    fabric.launch()
    fabric.seed_everything(cfg["seed"])
    RankTrainer(fabric, cfg).fit()


if __name__ == "__main__":
    main()
