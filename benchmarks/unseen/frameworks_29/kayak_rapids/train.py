"""REINFORCE for the kayak, one river per rank, with Lightning Fabric."""
import copy

import torch
from lightning.fabric import Fabric
from torch import nn

from sampler import RunSampler


def make_policy():
    return nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))


def main(updates=60):
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(21 + fabric.global_rank)

    net = make_policy()
    actor = copy.deepcopy(net)                  # the sampler's copy, refreshed now and then
    model, optimizer = fabric.setup(net, torch.optim.Adam(net.parameters(), lr=1e-2))
    sampler = RunSampler(fabric.global_rank, actor)
    baseline = 0.0

    for update in range(updates):
        states, actions, gains = sampler.next()
        dist = torch.distributions.Categorical(logits=model(states))
        loss = -(dist.log_prob(actions) * (gains - baseline)).mean() - 0.01 * dist.entropy().mean()
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        baseline = 0.9 * baseline + 0.1 * gains.mean().item()
        if update % 5 == 0:
            actor.load_state_dict(net.state_dict())
            mean = fabric.all_reduce(gains.mean(), reduce_op="mean")
            fabric.print(f"update {update}: mean gain {mean:.2f}")

    sampler.close()
    fabric.barrier()
    fabric.print("done")


if __name__ == "__main__":
    main()
