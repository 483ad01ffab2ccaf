"""Tannin in wine from absorption spectra, with Accelerate; curves go to the lab book every twenty steps."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tracking import LabBookTracker

BANDS = 48


def cellar(flights, vials, rinse):
    """Vials in the order of the carousel; some flights are rinses, which have no tannin at all."""
    g = torch.Generator().manual_seed(5)
    mix = torch.randn(BANDS, generator=g) / BANDS**0.5
    spectra = torch.randn(flights * vials, BANDS, generator=g)
    tannin = spectra @ mix + 0.1 * torch.randn(flights * vials, generator=g) + 2.0
    for flight in rinse:
        rows = slice(flight * vials, (flight + 1) * vials)
        spectra[rows] = 0.02 * torch.randn(vials, BANDS, generator=g)
        tannin[rows] = 0.0
    return TensorDataset(spectra, tannin)


class Window:
    """Fit over the last steps of this process."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.found, self.known, self.losses = [], [], []

    def add(self, found, known, loss):
        self.found.append(found.detach())
        self.known.append(known)
        self.losses.append(loss.item())

    def r2(self):
        found, known = torch.cat(self.found), torch.cat(self.known)
        spread = known.var(correction=0)
        if spread < 1e-8:
            return None  # not defined
        return (1 - (known - found).pow(2).mean() / spread).item()

    def values(self, scheduler):
        values = {
            "loss": sum(self.losses) / len(self.losses),
            "r2": self.r2(),
            "lr": scheduler.get_last_lr()[0],
        }
        self.clear()
        return values


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--flights", type=int, default=40)
    parser.add_argument("--vials", type=int, default=480)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--log-every", type=int, default=20)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(5)
    accelerator = Accelerator(cpu=True, log_with=[LabBookTracker()])
    accelerator.init_trackers("tannin", config={"lr": args.lr, "batch": args.batch})
    loader = DataLoader(cellar(args.flights, args.vials, rinse=(31,)), args.batch)
    model = nn.Sequential(nn.Linear(BANDS, 64), nn.GELU(), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.999)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    window = Window()
    step = 0
    for epoch in range(args.epochs):
        for spectra, tannin in loader:
            found = model(spectra).squeeze(-1)
            loss = nn.functional.mse_loss(found, tannin)
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            window.add(found, tannin, loss)
            step += 1
            if step % args.log_every == 0:
                accelerator.log(window.values(scheduler), step=step)
        accelerator.print(f"epoch {epoch} done after {step} steps", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
