import torch
import torch.distributed as dist
import torch.distributed.nn as dist_nn
import torch.nn as nn
import torch.nn.functional as F


def gather_cat(x):
    """Concatenate x of all ranks along dim 0; gradients flow back to every rank."""
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return x
    return torch.cat(dist_nn.all_gather(x.contiguous()), dim=0)


class TwoViewNCE(nn.Module):
    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature

    def forward(self, a, b):
        a = F.normalize(a.float(), dim=1)
        b = F.normalize(b.float(), dim=1)
        all_a = gather_cat(a)
        all_b = gather_cat(b)
        logits_ab = a @ all_b.t() / self.temperature
        logits_ba = b @ all_a.t() / self.temperature
        target = torch.arange(a.size(0), device=a.device)
        loss = 0.5 * (F.cross_entropy(logits_ab, target) + F.cross_entropy(logits_ba, target))
        with torch.no_grad():
            top1 = (logits_ab.argmax(1) == target).float().mean()
        return loss, top1
