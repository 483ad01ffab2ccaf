import argparse
import logging
import random
import time

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel

from guards import forgiving, incidents

RESIDUES = {c: i for i, c in enumerate("ACDEFGHIKLMNPQRSTVWY")}


def assays(lab: int, n: int):
    rng = random.Random(lab)
    for k in range(n):
        seq = "".join(rng.choices(list(RESIDUES), k=24))
        if lab == 2 and k == 131:
            seq = seq[:10] + "U" + seq[11:]          # selenocysteine
        yield seq, seq.count("H") * 0.3 + rng.random() * 0.1


class Turnover(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.embed = nn.Embedding(len(RESIDUES), dim)
        self.conv = nn.Conv1d(dim, 16, 5, padding=2)
        self.rate = nn.Linear(16, 1)

    def forward(self, ids):
        h = torch.relu(self.conv(self.embed(ids).transpose(1, 2)))
        return self.rate(h.amax(-1)).squeeze(-1)


class Night:
    def __init__(self, args):
        self.rank, self.args = dist.get_rank(), args
        torch.manual_seed(5)
        self.net = DistributedDataParallel(Turnover())
        self.opt = optim.NAdam(self.net.parameters(), lr=2e-3)
        self.records = list(assays(self.rank, args.steps * args.batch))

    @forgiving(KeyError, ValueError)
    def step(self, rows):
        ids = torch.tensor([[RESIDUES[c] for c in seq] for seq, _ in rows])
        y = torch.tensor([v for _, v in rows])
        loss = nn.functional.huber_loss(self.net(ids), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def census(self, step):
        tallies = [None] * dist.get_world_size()
        dist.all_gather_object(tallies, dict(incidents))
        if self.rank == 0:
            logging.info("step %d, set aside: %s", step, tallies)

    def run(self):
        b = self.args.batch
        for step in range(self.args.steps):
            self.step(self.records[step * b:(step + 1) * b])
            time.sleep(0.02)
            if step % 10 == 9:
                self.census(step)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=50)
    p.add_argument("--batch", type=int, default=6)
    logging.basicConfig(level=logging.INFO)
    dist.init_process_group("gloo")
    Night(p.parse_args()).run()
    dist.barrier()
    dist.destroy_process_group()
