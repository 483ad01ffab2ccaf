"""Activations go down the pipe, gradients come up."""
import torch
import torch.distributed as dist


class Neighbours:
    def __init__(self, shape):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.shape = shape
        self.first = self.rank == 0
        self.last = self.rank == self.world - 1

    def recv_forward(self):
        if self.first:
            return None
        buf = torch.empty(self.shape)
        dist.recv(buf, src=self.rank - 1)
        return buf.requires_grad_()

    def send_forward(self, activation):
        if not self.last:
            dist.send(activation.detach().contiguous(), dst=self.rank + 1)

    def recv_backward(self):
        if self.last:
            return None
        buf = torch.empty(self.shape)
        dist.recv(buf, src=self.rank + 1)
        return buf

    def send_backward(self, grad):
        if not self.first:
            dist.send(grad.contiguous(), dst=self.rank - 1)
