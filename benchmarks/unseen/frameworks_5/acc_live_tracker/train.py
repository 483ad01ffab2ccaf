import argparse
import time

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset

from tracking import LiveTracker


class Tides(Dataset):
    """Water levels of a day, and the level one hour later."""

    def __init__(self, n=400):
        t = torch.arange(n * 25, dtype=torch.float32)
        self.level = torch.sin(t / 6.2) + 0.3 * torch.sin(t / 2.9)
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        day = self.level[i * 25:(i + 1) * 25]
        return day[:24], day[24:]


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--run-name", default="tides")
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--log-every", type=int, default=5)
    return p.parse_args()


def main():
    opts = parse()
    accelerator = Accelerator(cpu=True, log_with=LiveTracker(opts.run_name))
    accelerator.init_trackers(opts.run_name, config=vars(opts))
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(24, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(Tides(), batch_size=opts.batch_size, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    for step, (day, later) in enumerate(loader):
        with accelerator.accumulate(model):
            loss = (model(day) - later).pow(2).mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        time.sleep(0.02)
        if step % opts.log_every == 0:
            mean = accelerator.reduce(loss.detach(), reduction="mean").item()
            accelerator.log({"loss": mean}, step=step)

    accelerator.wait_for_everyone()
    accelerator.print("training is over")
    accelerator.end_training()


if __name__ == "__main__":
    main()
