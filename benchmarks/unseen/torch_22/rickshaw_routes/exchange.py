"""Averages over the drivers, in a process group of their own (the default group is for the evaluation)."""
import torch
import torch.distributed as dist


class Exchange:
    def __init__(self, parameters):
        self.parameters = list(parameters)
        self.group = None
        self.sums = 0
        self.open()

    def open(self):
        """A new group, in which no operation of an attempt that was broken off is left over."""
        self.group = dist.new_group(ranks=list(range(dist.get_world_size())), backend="gloo")

    def gradients(self):
        flat = torch.cat([parameter.grad.flatten() for parameter in self.parameters])
        dist.all_reduce(flat, group=self.group)
        flat /= dist.get_world_size(self.group)
        start = 0
        for parameter in self.parameters:
            size = parameter.numel()
            parameter.grad.copy_(flat[start:start + size].view_as(parameter))
            start += size
        self.sums += 1

    def mean(self, value):
        value = torch.tensor(float(value))
        dist.all_reduce(value, group=self.group)
        return value.item() / dist.get_world_size(self.group)

    def norm(self):
        squares = sum(parameter.grad.square().sum() for parameter in self.parameters)
        return squares.sqrt().item()

    def describe(self):
        return f"{self.sums} averages over {dist.get_world_size(self.group)} drivers"

    def __len__(self):
        return sum(parameter.numel() for parameter in self.parameters)
