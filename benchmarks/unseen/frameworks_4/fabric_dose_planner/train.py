import os
import time

import torch
from lightning.fabric import Fabric
from torch import nn

from rollout import PlanEnv, Referee


class ActorCritic(nn.Module):
    def __init__(self, obs_dim=12, n_actions=5, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.BatchNorm1d(obs_dim), nn.Linear(obs_dim, width), nn.Tanh())
        self.pi = nn.Linear(width, n_actions)
        self.v = nn.Linear(width, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return self.pi(h), self.v(h).squeeze(-1)


def update(fabric, agent, opt, env, n=16, entropy=0.01):
    obs = env.reset(n)
    logits, value = agent(obs)
    dist = torch.distributions.Categorical(logits=logits)
    action = dist.sample()
    _, reward = env.step(obs, action)
    advantage = reward - value
    loss = -(dist.log_prob(action) * advantage.detach()).mean()
    loss = loss + 0.5 * advantage.pow(2).mean() - entropy * dist.entropy().mean()
    fabric.backward(loss)
    opt.step()
    opt.zero_grad()
    return reward.mean()


def main(iterations=90):
    fabric = Fabric(accelerator="cpu", devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)), strategy="ddp")
    fabric.launch()
    fabric.seed_everything(21 + fabric.global_rank)
    net = ActorCritic()
    agent, opt = fabric.setup(net, torch.optim.Adam(net.parameters(), lr=3e-3))
    env = PlanEnv(seed=100 + fabric.global_rank)
    referee = Referee(fabric, every=30, seat=fabric.world_size - 1)
    for it in range(1, iterations + 1):
        paid = update(fabric, agent, opt, env)
        time.sleep(0.02)
        referee.visit(agent, it)
    paid = fabric.all_reduce(paid, reduce_op="mean")
    fabric.print(f"final reward {paid:.3f}")


if __name__ == "__main__":
    main()
