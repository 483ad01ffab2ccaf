"""Activations and their gradients between neighboring stages."""

import torch
import torch.distributed as dist


class Links:
    def __init__(self, stage, stages, width):
        self.before = stage - 1 if stage > 0 else None
        self.after = stage + 1 if stage < stages - 1 else None
        self.width = width

    def receive_activation(self):
        rows = torch.empty(1, dtype=torch.int64)
        dist.recv(rows, src=self.before)
        x = torch.empty(int(rows), self.width)
        dist.recv(x, src=self.before)
        return x.requires_grad_()

    def send_activation(self, x):
        dist.send(torch.tensor([len(x)]), dst=self.after)
        dist.send(x.detach(), dst=self.after)

    def receive_gradient(self, like):
        gradient = torch.empty_like(like)
        dist.recv(gradient, src=self.after)
        return gradient

    def send_gradient(self, x):
        dist.send(x.grad, dst=self.before)
