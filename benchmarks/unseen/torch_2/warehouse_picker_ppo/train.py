"""Policy gradient for a warehouse picker, episodes are collected in a background thread."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from replay import Aisle, Collector, EpisodeStore

log = logging.getLogger("picker")

# order book per site: number of lines of each order
ORDER_BOOK = {
    0: [5, 7, 6, 4, 8],
    1: [6] * 160 + [0] + [6] * 10,     # site 1 has a cancelled order in its book
    2: [3, 9, 5],
}


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.pi = nn.Linear(32, 4)
        self.v = nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=400)
    ap.add_argument("--batch", type=int, default=16)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    store = EpisodeStore()
    Collector(Aisle(ORDER_BOOK[rank], seed=rank), store).start()
    while len(store) < 2:
        time.sleep(0.05)

    policy = DistributedDataParallel(Policy())
    opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
    gen = torch.Generator().manual_seed(100 + rank)
    for update in range(args.updates):
        obs, act, ret = store.draw(args.batch, gen)
        logits, value = policy(obs)
        adv = (ret - value).detach()
        logp = torch.distributions.Categorical(logits=logits).log_prob(act)
        loss = -(logp * adv).mean() + 0.5 * (ret - value).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.05)
        if rank == 0 and update % 20 == 0:
            log.info("update %d loss %.3f frames %d", update, loss.item(), store.frames)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
