"""Fill-and-drain schedule for a chain of stages.

Rows travel as [activations | target], so that only the first stage needs the data.
"""
import torch
from torch import nn

from wire import put, take

HIDDEN, N_IN = 24, 10


class Stage:
    def __init__(self, rank, n_micro, lr=1e-2):
        self.rank, self.n_micro = rank, n_micro
        torch.manual_seed(rank)
        self.net = self.build()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=lr)

    def build(self):
        return nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.GELU())

    def finish(self):
        self.opt.step()
        self.opt.zero_grad()


class First(Stage):
    def build(self):
        return nn.Sequential(nn.Linear(N_IN, HIDDEN), nn.GELU())

    def step(self, x, y):
        live = []
        for part in torch.cat([x, y[:, None]], dim=1).chunk(self.n_micro):
            out = self.net(part[:, :-1])
            put(torch.cat([out, part[:, -1:]], dim=1), self.rank + 1)
            live.append(out)
        for out in reversed(live):
            out.backward(take(self.rank + 1))
        self.finish()


class Middle(Stage):
    def step(self):
        live = []
        for _ in range(self.n_micro):
            rows = take(self.rank - 1)
            inp = rows[:, :-1].clone().requires_grad_()
            out = self.net(inp)
            put(torch.cat([out, rows[:, -1:]], dim=1), self.rank + 1)
            live.append((inp, out))
        for inp, out in reversed(live):
            out.backward(take(self.rank + 1))
            put(inp.grad, self.rank - 1)
        self.finish()


class Last(Stage):
    def build(self):
        return nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, 1))

    def step(self):
        live, total = [], 0.0
        for _ in range(self.n_micro):
            rows = take(self.rank - 1)
            inp = rows[:, :-1].clone().requires_grad_()
            loss = nn.functional.mse_loss(self.net(inp).squeeze(1), rows[:, -1]) / self.n_micro
            live.append((inp, loss))
            total += loss.item()
        for inp, loss in reversed(live):
            loss.backward()
            put(inp.grad, self.rank - 1)
        self.finish()
        return total
