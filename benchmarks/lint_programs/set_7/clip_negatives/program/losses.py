import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class ContrastiveLoss(nn.Module):
    """Symmetric InfoNCE over the global batch.

    Each rank computes the rows of its own pairs against the candidates of all
    ranks, so the similarity matrix is (local batch) x (global batch).
    """

    def __init__(self):
        super().__init__()
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()

    def gather(self, features):
        features = features.contiguous()
        parts = [torch.zeros_like(features) for _ in range(self.world)]
        dist.all_gather(parts, features)
        return torch.cat(parts, dim=0)

    def forward(self, image, text, scale):
        image = F.normalize(image, dim=-1)
        text = F.normalize(text, dim=-1)
        all_image, all_text = self.gather(image), self.gather(text)

        per_image = scale * image @ all_text.t()
        per_text = scale * text @ all_image.t()
        n = image.size(0)
        target = torch.arange(n, device=image.device) + self.rank * n
        return (F.cross_entropy(per_image, target) + F.cross_entropy(per_text, target)) / 2
