"""Contextual bandit for the order of push messages."""
import logging
import os
import time

import torch
from lightning.fabric import Fabric
from torch import nn

from tracking import RestLogger


class Policy(nn.Module):
    def __init__(self, features=12, arms=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, arms))

    def forward(self, x):
        return torch.log_softmax(self.net(x), dim=-1)


def rewards(context, arm):
    return (context[:, :5].gather(1, arm[:, None]).squeeze(1) > 0.2).float()


def main(steps=60, batch=16):
    tracker = RestLogger()
    fabric = Fabric(accelerator="cpu", strategy="ddp", devices=int(os.environ["LOCAL_WORLD_SIZE"]), loggers=tracker)
    fabric.launch()
    tracker.start()
    fabric.seed_everything(5 + fabric.global_rank)
    policy = Policy()
    policy, optimizer = fabric.setup(policy, torch.optim.Adam(policy.parameters(), lr=3e-3))
    tracker.log_hyperparams({"steps": steps, "batch": batch})

    for step in range(1, steps + 1):
        context = torch.randn(batch, 12)
        logp = policy(context)
        arm = torch.multinomial(logp.exp(), 1).squeeze(1)
        reward = rewards(context, arm)
        loss = -(logp.gather(1, arm[:, None]).squeeze(1) * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        time.sleep(0.02)
        if step % 5 == 0:
            mean = fabric.all_reduce(reward.mean())
            fabric.log_dict({"reward": mean}, step=step)

    fabric.barrier()
    tracker.finalize("success")
    fabric.print("finished")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main()
