import copy

import torch
import torch.distributed as dist


class Engine:
    """Optimizer step with averaged gradients and an EMA copy of the weights."""

    def __init__(self, model, lr, ema_decay, bucket_bytes=4 << 20):
        self.model = model
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.opt = torch.optim.AdamW(self.params, lr=lr)
        self.ema = copy.deepcopy(model).requires_grad_(False)
        self.decay = ema_decay
        self.buckets = self._make_buckets(bucket_bytes)

    def _make_buckets(self, limit):
        buckets, size = [[]], 0
        for p in reversed(self.params):
            if size + p.numel() * p.element_size() > limit and buckets[-1]:
                buckets.append([])
                size = 0
            buckets[-1].append(p)
            size += p.numel() * p.element_size()
        return buckets

    def _average_gradients(self):
        world = dist.get_world_size()
        for bucket in self.buckets:
            flat = torch.cat([p.grad.flatten() for p in bucket])
            dist.all_reduce(flat)
            flat.div_(world)
            for p, g in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad.copy_(g.view_as(p))

    def step(self, loss):
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self._average_gradients()
        torch.nn.utils.clip_grad_norm_(self.params, 1.0)
        self.opt.step()
        with torch.no_grad():
            for e, p in zip(self.ema.parameters(), self.model.parameters()):
                e.lerp_(p, 1 - self.decay)
