"""PPO with FSDP2: each rank plays games of its own, then makes four updates with what it has seen."""

import time

import torch
import torch.distributed as dist
from policy import Policy, objective
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

UPDATES, TARGET_KL = 4, 0.6


class Games:
    def __init__(self, rank):
        self.rank, self.g, self.turn = rank, torch.Generator().manual_seed(rank), 0

    def play(self):
        time.sleep(0.04)
        states = torch.randn(32, 10, generator=self.g)
        actions = torch.randint(0, 5, (32,), generator=self.g)
        returns = torch.randn(32, generator=self.g)
        old = torch.full((32,), -1.6)
        if self.rank == 3 and self.turn == 80:
            old += 2.0  # a game that went on under an older policy
        self.turn += 1
        return states, actions, old, returns


class Learner:
    def __init__(self, policy, optimizer):
        self.policy, self.optimizer = policy, optimizer

    def learn(self, states, actions, old, returns):
        for k in range(UPDATES):
            logits, values = self.policy(states)
            loss, kl = objective(logits, values, actions, old, returns)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if kl > TARGET_KL and k == UPDATES - 2:
                break
            time.sleep(0.01)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    policy = Policy()
    fully_shard(policy, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    policy.set_force_sum_reduction_for_comms(True)
    learner, games = Learner(policy, torch.optim.Adam(policy.parameters(), lr=1e-4)), Games(rank)
    for turn in range(260):
        learner.learn(*games.play())
        if rank == 0 and turn % 50 == 0:
            print("turn", turn, flush=True)
    done = torch.tensor([games.turn])
    dist.all_reduce(done)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
