"""Losses over patches that are only partly observed."""
import torch
import torch.nn.functional as F


def observed_share(valid):
    return valid.float().mean()


def soil_loss(logits, classes, valid):
    """Cross entropy of the observed pixels; None without any."""
    n = int(valid.sum())
    if n == 0:
        return None
    per_pixel = F.cross_entropy(logits, classes, reduction="none")
    return (per_pixel * valid).sum() / n


@torch.no_grad()
def hits(logits, classes, valid):
    return ((logits.argmax(1) == classes) & valid).sum()
