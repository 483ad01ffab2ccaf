"""Federated-style fine tuning: clinics have very different numbers of patients."""
import os
import time
from contextlib import ExitStack

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

PATIENTS = {0: 12, 1: 190, 2: 45}


def cohort(clinic):
    g = torch.Generator().manual_seed(900 + clinic)
    for _ in range(PATIENTS[clinic]):
        x = torch.randn(6, 20, generator=g)
        yield x, x[:, :4].sum(1, keepdim=True)


class Session:
    def __init__(self):
        dist.init_process_group("gloo")
        self.rank = dist.get_rank()
        torch.manual_seed(11)
        net = nn.Sequential(nn.Linear(20, 24), nn.SiLU(), nn.Dropout(0.1), nn.Linear(24, 1))
        self.model = DistributedDataParallel(net)
        self.opt = ZeroRedundancyOptimizer(self.model.parameters(), torch.optim.SGD, lr=0.02)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        dist.destroy_process_group()

    def fit(self):
        done = 0
        with Join([self.model, self.opt]):
            for x, y in cohort(self.rank):
                loss = nn.functional.mse_loss(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                done += 1
                time.sleep(0.12)
                if done % 40 == 0:
                    print(f"clinic {self.rank}: {done} batches, loss {loss.item():.3f}", flush=True)
        return done

    def total(self, done):
        count = torch.tensor([done])
        dist.all_reduce(count)
        return int(count)


def main():
    torch.set_num_threads(1)
    with ExitStack() as stack:
        session = stack.enter_context(Session())
        done = session.fit()
        seen = session.total(done)
        if session.rank == 0:
            print(f"{seen} batches of {len(PATIENTS)} clinics, pid {os.getpid()}", flush=True)


if __name__ == "__main__":
    main()
