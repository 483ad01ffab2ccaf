import time
from dataclasses import asdict, dataclass

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tracker import MetricStore


@dataclass
class Config:
    users: int = 200
    items: int = 300
    dim: int = 16
    batch_size: int = 8
    lr: float = 0.05
    log_every: int = 18
    epochs: int = 2


class TwoTower(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.user = nn.Embedding(cfg.users, cfg.dim)
        self.item = nn.Embedding(cfg.items, cfg.dim)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, users, items):
        return (self.user(users) * self.item(items)).sum(-1) + self.bias


def interactions(cfg, count=1200):
    gen = torch.Generator().manual_seed(3)
    users = torch.randint(cfg.users, (count,), generator=gen)
    items = torch.randint(cfg.items, (count,), generator=gen)
    clicked = ((users * 7 + items) % 5 == 0).float()
    return TensorDataset(users, items, clicked)


def train(cfg):
    accelerator = Accelerator(cpu=True, log_with=MetricStore("two-tower"))
    accelerator.init_trackers("two-tower", config=asdict(cfg))

    model = TwoTower(cfg)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=cfg.lr)
    loader = DataLoader(interactions(cfg), batch_size=cfg.batch_size, shuffle=True, drop_last=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    criterion = nn.BCEWithLogitsLoss()

    step = 0
    for epoch in range(cfg.epochs):
        for users, items, clicked in loader:
            optimizer.zero_grad()
            score = model(users, items)
            loss = criterion(score, clicked)
            accelerator.backward(loss)
            optimizer.step()
            time.sleep(0.03)
            step += 1
            if step % cfg.log_every == 0:
                accelerator.log({"train/loss": loss, "epoch": epoch}, step=step)
        accelerator.wait_for_everyone()
        accelerator.print(f"epoch {epoch} done after {step} steps")
    accelerator.end_training()


if __name__ == "__main__":
    train(Config())
