"""Self-play on a stone-taking game, four ranks; the last one also keeps the league table."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from league import League


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iterations", type=int, default=60)
    ap.add_argument("--rate-every", type=int, default=16)
    ap.add_argument("--games", type=int, default=8)
    return ap.parse_args()


def selfplay(policy, games, gen):
    """REINFORCE terms of some games of the policy against itself."""
    terms = []
    for _ in range(games):
        pile, turn, logs = int(torch.randint(5, 21, (1,), generator=gen)), 0, ([], [])
        while pile > 0:
            logp = policy(nn.functional.one_hot(torch.tensor(pile), 21).float()).log_softmax(-1)
            a = int(torch.multinomial(logp.detach().exp(), 1, generator=gen))
            logs[turn].append(logp[a])
            pile -= 1 + a
            turn ^= 1
        terms += [l for l in logs[turn]] + [-l for l in logs[turn ^ 1]]
    return torch.stack(terms).mean()


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"r{rank} %(message)s")
    keeper = world - 1
    torch.manual_seed(8)
    policy = nn.Sequential(nn.Linear(21, 24), nn.Tanh(), nn.Linear(24, 3))
    opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
    league = League(keeper)
    gen = torch.Generator().manual_seed(rank)
    for it in range(1, args.iterations + 1):
        loss = selfplay(policy, args.games, gen)
        opt.zero_grad()
        loss.backward()
        for p in policy.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
            p.grad /= world
        opt.step()
        time.sleep(0.02)
        if rank == keeper and it % args.rate_every == 0:
            score = league.admit(f"it{it}", policy)
            logging.info("it%d scores %.2f against the last of the league", it, score)
    dist.barrier()
    if rank == 0:
        logging.info("ratings %s", league.ratings)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
