"""An assay designer: rank 0 learns, the other ranks act. Actors play plates with their copy of the policy,
the learner gets the sum of their gradients and hands out new weights."""
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from groups import Groups
from report import Reporter

WELLS, REAGENTS = 10, 5
EXPLORE_STEPS = 160
REFINE_STEPS = 160


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(WELLS, 48), nn.Tanh(), nn.Linear(48, REAGENTS))

    def forward(self, plate):
        return torch.log_softmax(self.net(plate), dim=-1)


class Node:
    def __init__(self, rank, world):
        self.rank = rank
        self.groups = Groups(weights=range(world), actors=range(1, world), refine=range(world))
        self.report = Reporter(self.groups, rank)
        torch.manual_seed(2)
        self.policy = Policy()
        self.opt = torch.optim.SGD(self.policy.parameters(), lr=0.05)
        self.rng = torch.Generator().manual_seed(rank)
        self.best = torch.randn(WELLS, REAGENTS, generator=torch.Generator().manual_seed(9))

    def rollout(self, plates=20):
        time.sleep(0.025)
        plate = torch.randn(plates, WELLS, generator=self.rng)
        logp = self.policy(plate)
        action = torch.multinomial(logp.detach().exp(), 1, generator=self.rng)
        reward = (plate @ self.best).gather(1, action).squeeze(1)
        return logp.gather(1, action).squeeze(1), reward

    def gradient(self, normalize):
        if self.rank == 0:
            return torch.zeros(sum(p.numel() for p in self.policy.parameters()))
        logp, reward = self.rollout()
        baseline = reward.mean()
        if normalize:
            moments = torch.stack([reward.mean(), reward.square().mean()])
            dist.all_reduce(moments, group=self.groups.get("actors"))
            moments /= len(self.groups.members["actors"])
            baseline = moments[0]
            reward = reward / (moments[1] - moments[0] ** 2).clamp_min(1e-3).sqrt()
        self.opt.zero_grad()
        (-(reward - baseline) * logp).mean().backward()
        return torch.cat([p.grad.flatten() for p in self.policy.parameters()])

    def step(self, group, normalize=False):
        grad = self.gradient(normalize)
        dist.reduce(grad, dst=0, group=group)
        with torch.no_grad():
            flat = parameters_to_vector(self.policy.parameters()).clone()
            if self.rank == 0:
                flat -= 0.05 * grad / len(self.groups.members["actors"])
            dist.broadcast(flat, src=0, group=group)
            vector_to_parameters(flat, self.policy.parameters())
        return grad.norm().item()


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    node = Node(dist.get_rank(), dist.get_world_size())
    weights = node.groups.get("weights")
    for step in range(EXPLORE_STEPS):
        norm = node.step(weights)
        if step % 20 == 0:
            node.report.line(step, f"gradient {norm:.3f}")

    node.report.overview(EXPLORE_STEPS, "refine")
    refine = node.groups.get("refine")
    for step in range(EXPLORE_STEPS, EXPLORE_STEPS + REFINE_STEPS):
        norm = node.step(refine, normalize=True)
        if step % 20 == 0:
            node.report.line(step, f"gradient {norm:.3f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
