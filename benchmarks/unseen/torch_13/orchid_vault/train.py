"""Species of orchids with an adversarial nuisance model; checkpoints go to a vault, and all resume from there."""
import argparse
import json
import logging
import pathlib
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from vault import Vault

log = logging.getLogger("orchids")


class Net(nn.Module):
    def __init__(self, width=40, species=7):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(20, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width))
        self.species = nn.Linear(width, species)

    def forward(self, x):
        h = torch.relu(self.features(x))
        return self.species(h), h


def flowers(count, g, greenhouse):
    species = torch.randint(0, 7, (count,), generator=g)
    shape = torch.eye(20)[species] * 3 + torch.randn(count, 20, generator=g)
    shape[:, 19] += 2.0 * greenhouse
    return shape, species


class Run:
    def __init__(self, folder, args):
        self.rank, self.args = dist.get_rank(), args
        self.folder = folder
        self.store = dist.PrefixStore("vault", dist.distributed_c10d._get_default_store())
        self.vault = Vault(folder / "vault")
        torch.manual_seed(0)
        self.net = DDP(Net())
        self.critic = DDP(nn.Sequential(nn.Linear(40, 16), nn.ReLU(), nn.Linear(16, 1)))
        self.net_optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.g = torch.Generator().manual_seed(self.rank)

    def step(self):
        shape, species = flowers(32, self.g, self.rank % 2)
        greenhouse = torch.full((32, 1), float(self.rank % 2))
        logits, hidden = self.net(shape)
        critic_loss = nn.functional.binary_cross_entropy_with_logits(self.critic(hidden.detach()), greenhouse)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        fooled = nn.functional.binary_cross_entropy_with_logits(self.critic.module(hidden), 1 - greenhouse)
        loss = nn.functional.cross_entropy(logits, species) + 0.1 * fooled
        self.net_optimizer.zero_grad()
        loss.backward()
        self.net_optimizer.step()
        time.sleep(0.02)
        return loss.item()

    def checkpoint(self, number):
        """Written by the last process, verified by all from the vault."""
        key = f"stored/{number}"
        if self.rank == dist.get_world_size() - 1:
            path = self.folder / f"round{number}.pt"
            torch.save(self.net.module.state_dict(), path)
            target = self.vault.put(path)
            self.store.set(key, json.dumps(str(target)))
        target = json.loads(self.store.get(key))
        torch.load(target, map_location="cpu", weights_only=True)
        return target


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    folder = [tempfile.mkdtemp(prefix="orchids-")]
    dist.broadcast_object_list(folder, src=0)
    folder = pathlib.Path(folder[0])
    (folder / "vault").mkdir(exist_ok=True)
    run = Run(folder, args)
    for number in range(args.rounds):
        losses = [run.step() for _ in range(args.steps)]
        if number == args.rounds - 1:
            target = run.checkpoint(number)
            log.info("rank %d: %s, loss %.3f", run.rank, pathlib.Path(target).name, sum(losses) / len(losses))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
