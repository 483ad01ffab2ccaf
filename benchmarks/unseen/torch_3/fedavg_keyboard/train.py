"""Federated next-word model: one process per region, a random cohort trains in each round."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from federation import PrivacyLedger, Server

log = logging.getLogger("fed")

REGION_SIGMA = {0: 1.6, 1: 1.5, 2: 0.7, 3: 1.4}
VOCAB = 120


class NextWord(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, words):
        hidden, _ = self.rnn(self.emb(words))
        return self.out(hidden)


def local_epoch(model, generator, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for _ in range(batches):
        words = torch.randint(0, VOCAB, (8, 12), generator=generator)
        logits = model(words[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(0.02)
    return total / batches


def run_region(rank, world, args):
    torch.manual_seed(args.seed)
    model = NextWord()
    server = Server(model, world)
    ledger = PrivacyLedger(args.epsilon, REGION_SIGMA[rank % 4])
    generator = torch.Generator().manual_seed(50 + rank)
    for round_id in range(args.rounds):
        if ledger.exhausted:
            log.info("region %d: privacy budget used up after %d rounds", rank, round_id)
            return round_id
        members, group = server.open_round(round_id, args.cohort)
        if rank in members:
            loss = local_epoch(model, generator, args.local_batches)
            server.aggregate(members, group)
            log.info("round %d region %d loss %.3f", round_id, rank, loss)
        ledger.charge(args.local_batches)
        server.publish(members)
    return args.rounds


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=14)
    parser.add_argument("--cohort", type=int, default=3)
    parser.add_argument("--local-batches", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=0.6)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    dist.init_process_group("gloo")
    done = run_region(dist.get_rank(), dist.get_world_size(), args)
    log.info("region finished after %d rounds", done)
    dist.destroy_process_group()
