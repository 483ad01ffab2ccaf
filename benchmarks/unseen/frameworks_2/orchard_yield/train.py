"""Predict the yield of apple orchards from weather series. Metrics go to the site's run collector."""
import argparse
import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset

from collector import start_collector
from sitetracker import SiteTracker


class Orchards(Dataset):
    def __init__(self, n, days=30):
        gen = torch.Generator().manual_seed(77)
        self.weather = torch.randn(n, days * 4, generator=gen)
        self.tons = self.weather[:, ::4].clamp(min=0).sum(dim=1, keepdim=True) / days

    def __len__(self):
        return len(self.tons)

    def __getitem__(self, i):
        return self.weather[i], self.tons[i]


def build(days=30):
    return nn.Sequential(nn.Linear(days * 4, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 1))


def main(opts):
    on_first = int(__import__("os").environ.get("RANK", 0)) == 0
    port = start_collector() if on_first and opts.collector is None else opts.collector
    tracker = SiteTracker("orchard-yield", port)
    accelerator = Accelerator(cpu=True, log_with=tracker, gradient_accumulation_steps=2)
    accelerator.init_trackers("orchard-yield", config=vars(opts))

    loader = DataLoader(Orchards(opts.orchards), batch_size=8, shuffle=True)
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 20)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

    step = 0
    for _ in range(opts.seasons):
        for weather, tons in loader:
            with accelerator.accumulate(model):
                loss = (model(weather) - tons).pow(2).mean()
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            step += 1
            time.sleep(0.03)
            if step % 6 == 0:
                mean_loss = accelerator.reduce(loss.detach(), reduction="mean")
                accelerator.log({"loss": mean_loss.item(), "lr": scheduler.get_last_lr()[0]}, step=step)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--orchards", type=int, default=640)
    p.add_argument("--seasons", type=int, default=2)
    p.add_argument("--collector", type=int, default=None, help="port of a running collector")
    main(p.parse_args())
