"""Adam whose state is spread over the ranks (as ZeRO stage 1 does it)."""
import torch
import torch.distributed as dist


class ShardedAdam:
    def __init__(self, params, scaler, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.params = [p for p in params if p.requires_grad]
        self.scaler = scaler
        self.lr, self.betas, self.eps = lr, betas, eps
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.numel = sum(p.numel() for p in self.params)
        self.part = -(-self.numel // self.world)
        device = self.params[0].device
        self.master = self._mine(self._flatten([p.detach() for p in self.params])).clone()
        self.exp_avg = torch.zeros(self.part, device=device)
        self.exp_avg_sq = torch.zeros(self.part, device=device)
        self.steps = 0
        self.skipped = 0

    def _flatten(self, tensors):
        flat = torch.cat([t.reshape(-1) for t in tensors])
        return torch.nn.functional.pad(flat, (0, self.part * self.world - self.numel))

    def _mine(self, flat):
        return flat[self.rank * self.part:(self.rank + 1) * self.part]

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    @torch.no_grad()
    def step(self):
        """Returns False where the step was skipped."""
        # divide before the cast, so that the sum cannot overflow by itself
        flat = self._flatten([p.grad / self.world for p in self.params]).half()
        half = torch.empty(self.part, dtype=torch.half, device=flat.device)
        dist.reduce_scatter_tensor(half, flat)
        grad = half.float()

        overflow = self.scaler.unscale_(grad)
        self.scaler.update(overflow)
        if overflow:
            self.skipped += 1
            return False

        self.steps += 1
        b1, b2 = self.betas
        self.exp_avg.lerp_(grad, 1 - b1)
        self.exp_avg_sq.mul_(b2).addcmul_(grad, grad, value=1 - b2)
        m = self.exp_avg / (1 - b1 ** self.steps)
        v = self.exp_avg_sq / (1 - b2 ** self.steps)
        self.master.addcdiv_(m, v.sqrt() + self.eps, value=-self.lr)

        flat = torch.empty(self.part * self.world, device=grad.device)
        dist.all_gather_into_tensor(flat, self.master)
        offset = 0
        for p in self.params:
            p.copy_(flat[offset:offset + p.numel()].view_as(p))
            offset += p.numel()
        return True
