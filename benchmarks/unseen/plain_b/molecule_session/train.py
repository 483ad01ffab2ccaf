"""Message passing on molecules (solubility), gradients averaged by hand."""
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from molecules import ELEMENTS, SUPPLIERS, batches
from session import distributed_session


class MPNN(nn.Module):
    def __init__(self, width=20, rounds=2):
        super().__init__()
        self.embed = nn.Linear(len(ELEMENTS), width)
        self.mix = nn.ModuleList(nn.Linear(width, width) for _ in range(rounds))
        self.read = nn.Linear(width, 1)

    def forward(self, x, adj):
        h = self.embed(x)
        for layer in self.mix:
            h = torch.relu(layer(adj @ h)) + h
        return self.read(h.mean(0))


def target(x):
    return (x[:, 2].sum() - x[:, 0].sum())[None] / len(x)


def synchronise(net, world):
    handles = [dist.all_reduce(p.grad, async_op=True) for p in net.parameters()]
    for h, p in zip(handles, net.parameters()):
        h.wait()
        p.grad.div_(world)


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    with distributed_session() as (rank, world):
        torch.manual_seed(0)
        net = MPNN()
        opt = torch.optim.Adam(net.parameters(), lr=2e-3)
        for epoch in range(2):
            for n, batch in enumerate(batches(SUPPLIERS[rank], size=6)):
                loss = torch.stack([(net(x, adj) - target(x)).pow(2).squeeze() for x, adj in batch]).mean()
                opt.zero_grad(set_to_none=True)
                loss.backward()
                synchronise(net, world)
                opt.step()
                time.sleep(0.02)
                if rank == 0 and n % 10 == 0:
                    logging.info("epoch %d batch %d loss %.4f", epoch, n, loss.item())


if __name__ == "__main__":
    main()
