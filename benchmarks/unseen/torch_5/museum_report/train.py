import time

import torch
import torch.distributed as dist
from torch import nn

from report import publish


def train(steps=40):
    net = nn.Linear(20, 4)
    for parameter in net.parameters():
        dist.broadcast(parameter.data, src=0)
    for _ in range(steps):
        x = torch.randn(8, 20)
        loss = nn.functional.cross_entropy(net(x), x[:, :4].argmax(1))
        net.zero_grad()
        loss.backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)
            parameter.data.sub_(parameter.grad, alpha=0.1 / dist.get_world_size())
        time.sleep(0.02)
        yield loss.item()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    losses = list(train())
    dist.barrier()
    dist.destroy_process_group()
    if rank == 1:
        publish(losses)
