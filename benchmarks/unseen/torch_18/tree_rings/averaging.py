"""Synchronous data parallelism by hand: gradients are averaged after the backward."""
import torch
import torch.distributed as dist


def broadcast_parameters(model, src=0):
    """All processes start from the parameters of one."""
    for p in model.parameters():
        dist.broadcast(p.data, src=src)


def average_gradients(model):
    """The mean over all processes, parameter by parameter. What has no gradient has nothing to average."""
    world = dist.get_world_size()
    for p in model.parameters():
        if p.grad is None:
            continue
        dist.all_reduce(p.grad)
        p.grad.div_(world)


class LossTable:
    """The losses of all processes in the last steps, to see a forest that is learned badly."""

    def __init__(self, window):
        self.window = window
        self.rows = []

    def add(self, loss):
        row = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(row, loss.detach().reshape(1))
        self.rows.append(torch.cat(row))
        if len(self.rows) > self.window:
            del self.rows[0]

    def worst(self):
        """The process with the greatest mean loss in the window, and that loss."""
        if not self.rows:
            return 0, float("nan")
        means = torch.stack(self.rows).mean(0)
        return int(means.argmax()), means.max().item()
