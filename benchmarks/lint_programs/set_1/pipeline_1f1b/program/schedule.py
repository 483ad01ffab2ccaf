from collections import deque

import torch
import torch.nn.functional as F


class OneFOneB:
    def __init__(self, stage, link, n_micro):
        self.stage, self.link, self.n_micro = stage, link, n_micro

    def _forward(self, i, x, batch):
        if self.link.first:
            x = batch[0][i]
        else:
            x.requires_grad_()
        y = self.stage(x)
        if self.link.last:
            y = F.cross_entropy(y.flatten(0, 1), batch[1][i].flatten()) / self.n_micro
            self.loss += y.detach()
        self.in_flight.append((x, y))
        return y

    def _backward(self, grad):
        x, y = self.in_flight.popleft()
        if self.link.last:
            y.backward()
        else:
            torch.autograd.backward(y, grad_tensors=grad)
        return None if self.link.first else x.grad

    def step(self, batch):
        """One pass over batch = (inputs, targets), each a sequence of micro batches."""
        link = self.link
        self.in_flight = deque()
        self.loss = torch.zeros((), device="cuda")
        warmup = min(link.stages - link.stage - 1, self.n_micro)
        steady = self.n_micro - warmup

        for i in range(warmup):
            x, _ = link(recv_prev=True)
            y = self._forward(i, x, batch)
            link(send_next=y.detach())

        if steady > 0:
            x, _ = link(recv_prev=True)
        for i in range(steady):
            y = self._forward(warmup + i, x, batch)
            link(send_next=y.detach())
            _, grad = link(recv_next=True)
            grad = self._backward(grad)
            link(send_prev=grad)
            if i < steady - 1:
                x, _ = link(recv_prev=True)

        for _ in range(warmup):
            _, grad = link(recv_next=True)
            grad = self._backward(grad)
            link(send_prev=grad)
        return self.loss
