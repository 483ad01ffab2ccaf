"""What the ranks tell each other between backward and the optimizer step.

Gradients of a tensor-parallel shard are averaged over the data-parallel dimension only. Besides, everybody wants to
know the largest gradient anywhere, in order to scale the step down together.
"""
import torch
import torch.distributed as dist


class StepReducer:
    def __init__(self, model, mesh, limit=5.0):
        self.shards = [p for p in model.parameters()]
        self.dp = mesh.get_group("dp")
        self.limit = limit
        self.scale = 1.0

    def local(self):
        return [p.grad.to_local() if hasattr(p.grad, "to_local") else p.grad for p in self.shards]

    def average(self):
        flat = torch.cat([g.flatten() for g in self.local()])
        dist.all_reduce(flat, group=self.dp)
        flat /= dist.get_world_size(self.dp)
        offset = 0
        for g in self.local():
            g.copy_(flat[offset:offset + g.numel()].view_as(g))
            offset += g.numel()

    def agree_on_scale(self):
        largest = torch.stack([g.abs().max() for g in self.local()]).max()
        dist.all_reduce(largest, op=dist.ReduceOp.MAX)
        self.scale = min(1.0, self.limit / largest.item())
        for g in self.local():
            g.mul_(self.scale)

    def __call__(self, watched):
        """`watched`: the layer whose gradients explode first."""
        peak = watched.weight.grad.to_local().abs().max().item()
        if peak > self.limit:
            # scale before the average, else the spike is smeared over the good half as well
            self.agree_on_scale()
            self.average()
        else:
            self.average()
            self.agree_on_scale()
