import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class GatherWithGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(out, x.contiguous())
        return tuple(out)

    @staticmethod
    def backward(ctx, *grads):
        stacked = torch.stack(grads)
        dist.all_reduce(stacked)
        return stacked[dist.get_rank()]


class ClipLoss(nn.Module):
    def __init__(self, world_size):
        super().__init__()
        self.world_size = world_size

    def gather(self, x):
        if self.world_size == 1:
            return x
        return torch.cat(GatherWithGrad.apply(x), dim=0)

    def forward(self, image_features, text_features, logit_scale):
        all_images = self.gather(image_features)
        all_texts = self.gather(text_features)
        logits_per_image = logit_scale * image_features @ all_texts.t()
        logits_per_text = logit_scale * text_features @ all_images.t()
        labels = torch.arange(image_features.size(0), device=image_features.device)
        return (F.cross_entropy(logits_per_image, labels) + F.cross_entropy(logits_per_text, labels)) / 2
