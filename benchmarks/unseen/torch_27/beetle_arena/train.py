"""REINFORCE in the beetle arena, a colony per rank, with levels and mentors."""
import torch
import torch.distributed as dist
from torch import nn

from arena import ACTIONS, OBS, Arena
from mentors import Mentors

LEVELS = 12
ROUNDS = 30


def make_policy():
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(OBS, 24), nn.Tanh(), nn.Linear(24, ACTIONS))


def improve(policy, optimizer, seen, actions, rewards):
    advantage = rewards - rewards.mean()
    chosen = torch.distributions.Categorical(logits=policy(seen)).log_prob(actions)
    loss = -(chosen * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    return rewards.mean().item()


def play_level(policy, optimizer, arena, level):
    total = 0.0
    for _ in range(ROUNDS):
        total += improve(policy, optimizer, *arena.rollout(policy, level))
    return total / ROUNDS


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    policy = make_policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    arena, mentors = Arena(rank), Mentors(threshold=0.35)
    torch.manual_seed(20 + rank)
    for level in range(LEVELS):
        reward = play_level(policy, optimizer, arena, level)
        mentors.elect(reward)
        mentors.teach(policy)
        # the mean of all colonies goes into the log, muddy ones included
        mean = torch.tensor([reward])
        dist.all_reduce(mean)
        if rank == 0:
            print(f"level {level}: mean {mean.item() / dist.get_world_size():.3f}, mentors {mentors.members}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
