import time

import torch
import torch.distributed as dist
from torch import nn

WIDTH = 32
MICRO, COUNT = 8, 6


class PipelineStage:
    """A fill-and-drain schedule. Sends are started at once and waited for at the end of the step."""

    def __init__(self, rank, last, table, work):
        self.rank, self.last, self.work = rank, last, work
        self.table = table[:WIDTH]
        torch.manual_seed(30 + rank)
        self.net = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.02)
        self._open = []

    def _send(self, tensor, peer):
        tensor = tensor.detach().contiguous()
        self._open.append((dist.isend(tensor, peer), tensor))

    def _recv(self, peer):
        buf = torch.empty(MICRO, WIDTH)
        dist.irecv(buf, peer).wait()
        return buf

    def _input(self, step, micro):
        if self.rank > 0:
            return self._recv(self.rank - 1).requires_grad_()
        gen = torch.Generator().manual_seed(step * COUNT + micro)
        return torch.randn(MICRO, WIDTH, generator=gen) * (1 - self.table)

    def step(self, step):
        self.opt.zero_grad()
        kept, total = [], 0.0
        for micro in range(COUNT):
            x = self._input(step, micro)
            time.sleep(self.work)
            out = self.net(x)
            if self.rank < self.last:
                self._send(out, self.rank + 1)
            else:
                out = (out - self.table).square().mean() / COUNT
                total += out.item()
            kept.append((x, out))
        for x, out in kept:
            if self.rank < self.last:
                out.backward(self._recv(self.rank + 1))
            else:
                out.backward()
            if self.rank > 0:
                self._send(x.grad, self.rank - 1)
        for work, _ in self._open:
            work.wait()
        self._open.clear()
        self.opt.step()
        return total
