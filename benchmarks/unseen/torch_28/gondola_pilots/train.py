"""REINFORCE for gondolas, one pier per rank.   torchrun --standalone --nproc-per-node 3 train.py"""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from actor import Actor

UPDATES = 240


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(7)
    policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    learner = DistributedDataParallel(policy)
    optimizer = torch.optim.Adam(learner.parameters(), lr=3e-3)
    actor = Actor(policy, rank)              # reads the weights while they are trained, that's fine here
    baseline = 0.0

    for update in range(UPDATES):
        states, strokes, score = actor.episode()
        advantage = score - baseline
        baseline += 0.05 * advantage
        mean = learner(states).squeeze(1)
        loss = advantage * (strokes - mean).square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
        optimizer.step()
        if update % 40 == 0 and rank == 0:
            print(f"update {update}: baseline {baseline:.2f}", flush=True)

    actor.close()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
