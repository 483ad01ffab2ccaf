"""Length of stay, predicted by clinics that keep their patients' data to themselves."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from federation import Clinic, Federation

logger = logging.getLogger("clinics")


class Patients:
    """Admissions of a clinic, month by month; an epidemic changes who comes."""

    def __init__(self, clinic, per_month, epidemic):
        self.clinic = clinic
        self.per_month = per_month
        self.epidemic = epidemic
        self.truth = torch.linspace(-1, 1, 12)

    def month(self, number):
        g = torch.Generator().manual_seed(1000 * self.clinic + number)
        x = torch.randn(self.per_month, 12, generator=g)
        stay = 3 + x @ self.truth + 0.3 * x[:, 0] * x[:, 1]
        if self.epidemic is not None and number >= self.epidemic:
            stay = stay + 9 * (x[:, 3] > 0)
        return x, stay + 0.7 * torch.randn(self.per_month, generator=g)


def fitting(model, optimizer, x, y, batch, passes):
    def fit():
        first = None
        for _ in range(passes):
            for start in range(0, len(x), batch):
                loss = nn.functional.mse_loss(model(x[start:start + batch])[:, 0], y[start:start + batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                first = loss.item() if first is None else first
                time.sleep(0.005)
        return first
    return fit


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--months", type=int, default=60)
    parser.add_argument("--patients", type=int, default=256)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--tolerance", type=float, default=4.0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(8)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    clinic = Clinic(Federation(model), optimizer, args.tolerance)
    patients = Patients(rank, args.patients, epidemic=14 if rank == 1 else None)
    for month in range(args.months):
        x, stay = patients.month(month)
        loss = clinic.round(fitting(model, optimizer, x, stay, args.batch, args.passes))
        if month % 5 == 0:
            logger.info("clinic %d month %d: %.2f", rank, month, loss)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
