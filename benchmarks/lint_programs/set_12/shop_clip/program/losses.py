import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class GatherLayer(torch.autograd.Function):
    """All-gather along the batch that carries gradients back to every rank."""

    @staticmethod
    def forward(ctx, x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad)
        return grad.chunk(dist.get_world_size())[dist.get_rank()]


class ContrastiveLoss(nn.Module):
    """Each rank scores its own pairs against the pairs of all ranks."""

    def __init__(self, rank=0, world_size=1):
        super().__init__()
        self.rank = rank
        self.world_size = world_size

    def forward(self, image, text, scale):
        if self.world_size > 1:
            all_image, all_text = GatherLayer.apply(image), GatherLayer.apply(text)
        else:
            all_image, all_text = image, text
        n = image.size(0)
        target = torch.arange(n, device=image.device) + n * self.rank
        to_text = F.cross_entropy(scale * image @ all_text.t(), target)
        to_image = F.cross_entropy(scale * text @ all_image.t(), target)
        return (to_text + to_image) / 2
