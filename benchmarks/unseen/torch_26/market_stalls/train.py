"""Prices at market stalls as a bandit: a stall per process, one policy for all of them."""
import argparse
import logging
import random
import time

import torch
import torch.distributed as dist
from torch import nn

from oracle import Customers, start_oracle

log = logging.getLogger("market")
GOODS = ("leeks", "plums", "honey", "cheese", "walnuts", "quinces")
PRICES = (1.0, 2.0, 3.5, 5.0, 7.5, 10.0)


class Stall:
    """Goods that a stall has on a day; some have their season."""

    def __init__(self, number):
        self.rng = random.Random(number)
        self.number = number
        self.staple = list(GOODS[number:number + 3])

    def goods(self, day, count):
        table = list(self.staple)
        if self.number == 2 and day >= 70:
            table.append("quinces")
        return [self.rng.choice(table) for _ in range(count)]


class Pricing:
    def __init__(self, lr):
        torch.manual_seed(9)
        self.table = nn.Embedding(len(GOODS), len(PRICES))
        nn.init.zeros_(self.table.weight)
        self.optimizer = torch.optim.SGD(self.table.parameters(), lr=lr)
        self.mean = 1.0

    def choose(self, goods):
        index = torch.tensor([GOODS.index(name) for name in goods])
        log_prob = self.table(index).log_softmax(1)
        choice = torch.multinomial(log_prob.exp(), 1)
        return [PRICES[i] for i in choice[:, 0].tolist()], log_prob.gather(1, choice)[:, 0]

    def learn(self, log_prob, paid):
        loss = -((paid - self.mean) * log_prob).mean()
        self.optimizer.zero_grad()
        loss.backward()
        dist.all_reduce(self.table.weight.grad)
        self.table.weight.grad /= dist.get_world_size()
        self.optimizer.step()
        self.mean = 0.95 * self.mean + 0.05 * paid.mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=200)
    parser.add_argument("--sales", type=int, default=6)
    parser.add_argument("--lr", type=float, default=0.5)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    shared = [start_oracle() if rank == 0 else None]
    dist.broadcast_object_list(shared, src=0)
    customers, stall, pricing = Customers(shared[0]), Stall(rank), Pricing(args.lr)
    torch.manual_seed(50 + rank)
    for day in range(args.days):
        goods = stall.goods(day, args.sales)
        prices, log_prob = pricing.choose(goods)
        paid = torch.tensor([customers.offer(name, price) for name, price in zip(goods, prices)])
        pricing.learn(log_prob, paid)
        time.sleep(0.03)
        if rank == 0 and day % 20 == 0:
            log.info("day %d: %.2f for an offer", day, pricing.mean)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
