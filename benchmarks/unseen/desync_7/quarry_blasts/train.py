"""The charge of a shot from the vibrations it caused."""

import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from criterion import ShotLoss
from geophones import CHANNELS, Blasts

log = logging.getLogger("blasts")


class ChargeEstimator:
    def __init__(self, hidden=40, lr=5e-3):
        network = nn.Sequential(nn.Linear(CHANNELS, hidden), nn.GELU(), nn.Linear(hidden, 1))
        self.model = DistributedDataParallel(network)
        self.optimizer = torch.optim.AdamW(network.parameters(), lr=lr)
        self.loss = ShotLoss()
        self.history = []

    def learn(self, readings, charge):
        self.optimizer.zero_grad()
        loss = self.loss(self.model(readings), charge, readings)
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())

    def run(self, loader):
        for number, (readings, charge) in enumerate(loader):
            try:
                self.learn(readings, charge)
            except torch.linalg.LinAlgError as error:
                log.warning("blast %d: %s", number, error)
            if number % 50 == 49 and dist.get_rank() == 0:
                log.info("blast %d: %.4f", number, sum(self.history[-50:]) / 50)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    torch.manual_seed(5)
    dist.init_process_group("gloo")
    blasts = Blasts(dist.get_rank(), blasts=680, shots=24)
    loader = DataLoader(blasts, batch_size=None)
    estimator = ChargeEstimator()
    estimator.run(loader)
    dist.barrier()
    total = torch.tensor([estimator.history[-1]])
    dist.all_reduce(total, op=dist.ReduceOp.MAX)
    log.info("done, largest loss %.4f", total.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
