import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoHeadDetector(nn.Module):
    """Lesion detector; the mask head only sees the crops that were annotated."""

    def __init__(self, width=16, classes=3):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.cls_head = nn.Linear(width, classes)
        self.mask_head = nn.Conv2d(width, 1, 1)

    def forward(self, image, target):
        feat = self.backbone(image)
        losses = {"cls": F.cross_entropy(self.cls_head(feat.mean((2, 3))), target["label"])}
        losses.update(self.mask_losses(feat, target))
        return losses

    def mask_losses(self, feat, target):
        idx = target["has_mask"].nonzero().flatten()
        if len(idx) == 0:
            return {"mask": feat.new_zeros(())}
        logits = self.mask_head(feat[idx]).squeeze(1)
        gt = F.avg_pool2d(target["mask"][idx, None], 2).squeeze(1)
        return {"mask": F.binary_cross_entropy_with_logits(logits, gt)}
