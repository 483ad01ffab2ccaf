"""Speech command tagger with averaged weights for the final evaluation."""
import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from averaging import ShadowWeights


@dataclass
class Config:
    frames: int = 20
    mels: int = 10
    commands: int = 6
    steps: int = 420
    batch: int = 12
    lr: float = 1e-3
    average_from: int = 170
    decay: float = 0.98


def spectrograms(cfg: Config, n: int = 3600) -> TensorDataset:
    g = torch.Generator().manual_seed(21)
    command = torch.randint(0, cfg.commands, (n,), generator=g)
    prototypes = torch.randn(cfg.commands, cfg.frames, cfg.mels, generator=g)
    x = prototypes[command] + 0.8 * torch.randn(n, cfg.frames, cfg.mels, generator=g)
    return TensorDataset(x, command)


class Tagger(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.gru = nn.GRU(cfg.mels, 24, batch_first=True)
        self.attend = nn.Linear(24, 1)
        self.out = nn.Linear(24, cfg.commands)

    def forward(self, x):
        h, _ = self.gru(x)
        weight = self.attend(h).softmax(dim=1)
        return self.out((weight * h).sum(dim=1))


class Runner:
    def __init__(self, cfg: Config):
        self.cfg = cfg
        self.accelerator = Accelerator(cpu=True)
        model = Tagger(cfg)
        optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        loader = DataLoader(spectrograms(cfg), batch_size=cfg.batch, shuffle=True, drop_last=True)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.hooks = [ShadowWeights(self.accelerator, start=cfg.average_from, decay=cfg.decay)]
        self.step = 0

    def train_batch(self, x, command):
        loss = nn.functional.cross_entropy(self.model(x), command)
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def fit(self):
        while self.step < self.cfg.steps:
            for x, command in self.loader:
                time.sleep(0.025)
                loss = self.train_batch(x, command)
                self.step += 1
                for hook in self.hooks:
                    hook.after_step(self.step, self.model)
                if self.step % 60 == 0:
                    self.accelerator.print(f"{self.step:4d} {loss:.4f}")
                if self.step == self.cfg.steps:
                    break

    def finish(self):
        self.accelerator.wait_for_everyone()
        for hook in self.hooks:
            hook.report()
        self.accelerator.end_training()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    runner = Runner(Config())
    runner.fit()
    runner.finish()
