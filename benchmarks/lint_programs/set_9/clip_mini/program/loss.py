import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_fn
import torch.nn.functional as F
from torch import nn


class ContrastiveLoss(nn.Module):
    """Symmetric InfoNCE over the global batch.

    Every rank scores its own rows against the features of all ranks, so the
    logits are [local_batch, global_batch] and memory stays linear in world size.
    """

    def forward(self, image_features, text_features, logit_scale):
        if dist.is_initialized() and dist.get_world_size() > 1:
            all_images = torch.cat(dist_fn.all_gather(image_features.contiguous()))
            all_texts = torch.cat(dist_fn.all_gather(text_features.contiguous()))
        else:
            all_images, all_texts = image_features, text_features

        logits_per_image = logit_scale * image_features @ all_texts.T
        logits_per_text = logit_scale * text_features @ all_images.T

        n = image_features.shape[0]
        labels = torch.arange(n, device=image_features.device)
        return 0.5 * (
            F.cross_entropy(logits_per_image, labels)
            + F.cross_entropy(logits_per_text, labels)
        )
