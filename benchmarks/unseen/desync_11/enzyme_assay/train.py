"""Fits Michaelis-Menten constants with a sharded network; every process reads the plates of its own bench."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.data import DataLoader

from model import build
from plates import CONCENTRATIONS, Plates

logger = logging.getLogger("assay")


class Trainer:
    def __init__(self, args, mesh):
        self.args = args
        self.rank = dist.get_rank()
        self.model = build(CONCENTRATIONS, mesh)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.loader = DataLoader(Plates(self.rank, args.plates, args.wells), batch_size=None)
        self.rejected = []

    def valid(self, plate):
        """The usual rule of the laboratory: the mean of the control wells is above a half."""
        return plate["control"].mean().item() > self.args.min_control

    def update(self, plate):
        predicted = self.model(plate["rates"])
        loss = torch.nn.functional.smooth_l1_loss(predicted, plate["constants"])
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def run(self):
        started, smooth = time.time(), None
        for number, plate in enumerate(self.loader):
            if not self.valid(plate):
                logger.info("bench %d: plate %d rejected, controls too low", self.rank, number)
                self.rejected.append(number)
                continue
            loss = self.update(plate)
            smooth = loss if smooth is None else 0.98 * smooth + 0.02 * loss
            if self.rank == 0 and number % 100 == 0:
                logger.info("plate %d: loss %.4f after %.0f s", number, smooth, time.time() - started)
        return smooth


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plates", type=int, default=760)
    parser.add_argument("--wells", type=int, default=24)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--min-control", type=float, default=0.5)
    args = parser.parse_args()

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    trainer = Trainer(args, mesh)
    smooth = trainer.run()
    dist.barrier()
    logger.info("rank %d: loss %.4f, %d plates rejected", dist.get_rank(), smooth, len(trainer.rejected))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
