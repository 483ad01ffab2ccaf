import math

import torch
import torch.distributed as dist


class ShardedAdamW:
    """AdamW whose master weights and moments are split over the process group.

    Gradients are reduce-scattered, every process updates its slice of the flat
    parameter vector, and the slices are gathered back into the module.
    """

    def __init__(self, module, lr, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.01, max_norm=1.0, group=None):
        self.group = group
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        self.params = [p for p in module.parameters() if p.requires_grad]
        self.lr, self.betas, self.eps = lr, betas, eps
        self.weight_decay, self.max_norm = weight_decay, max_norm

        numel = sum(p.numel() for p in self.params)
        self.per_rank = math.ceil(numel / self.world)
        self.flat = torch.zeros(self.per_rank * self.world)
        self.flat_grad = torch.zeros_like(self.flat)
        offset = 0
        for p in self.params:
            view = self.flat[offset:offset + p.numel()].view_as(p)
            view.copy_(p.data)
            p.data = view
            p.grad = self.flat_grad[offset:offset + p.numel()].view_as(p)
            offset += p.numel()
        dist.broadcast(self.flat, src=0, group=group)

        self.master = self._slice(self.flat).clone()
        self.exp_avg = torch.zeros_like(self.master)
        self.exp_avg_sq = torch.zeros_like(self.master)
        self.grad = torch.zeros_like(self.master)
        self.t = 0

    def _slice(self, flat):
        return flat[self.rank * self.per_rank:(self.rank + 1) * self.per_rank]

    def zero_grad(self):
        self.flat_grad.zero_()

    @torch.no_grad()
    def step(self):
        dist.reduce_scatter_tensor(self.grad, self.flat_grad, group=self.group)
        self.grad /= self.world

        norm = self.grad.norm()
        if self.max_norm is not None:
            self.grad *= (self.max_norm / (norm + 1e-6)).clamp(max=1.0)

        self.t += 1
        b1, b2 = self.betas
        self.exp_avg.lerp_(self.grad, 1 - b1)
        self.exp_avg_sq.mul_(b2).addcmul_(self.grad, self.grad, value=1 - b2)
        m = self.exp_avg / (1 - b1 ** self.t)
        v = self.exp_avg_sq / (1 - b2 ** self.t)
        self.master.mul_(1 - self.lr * self.weight_decay)
        self.master.addcdiv_(m, v.sqrt().add_(self.eps), value=-self.lr)

        dist.all_gather_into_tensor(self.flat, self.master, group=self.group)
        return norm

    def state_dict(self):
        """This process's part; saved to its own file."""
        return {"t": self.t, "master": self.master, "exp_avg": self.exp_avg, "exp_avg_sq": self.exp_avg_sq,
                "rank": self.rank, "world": self.world}

    def load_state_dict(self, state):
        if (state["rank"], state["world"]) != (self.rank, self.world):
            raise ValueError(f"shard {state['rank']}/{state['world']} loaded on {self.rank}/{self.world}")
        self.t = state["t"]
        for name in ("master", "exp_avg", "exp_avg_sq"):
            getattr(self, name).copy_(state[name])
        dist.all_gather_into_tensor(self.flat, self.master, group=self.group)
