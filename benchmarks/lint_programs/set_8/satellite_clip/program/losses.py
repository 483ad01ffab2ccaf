import torch
import torch.nn as nn
import torch.nn.functional as F

import dist_utils


class ClipLoss(nn.Module):
    """Symmetric InfoNCE, local rows against the global batch."""

    def __init__(self, label_smoothing=0.0):
        super().__init__()
        self.label_smoothing = label_smoothing
        self._labels = None

    def labels(self, n, device):
        if self._labels is None or len(self._labels) != n:
            self._labels = torch.arange(n, device=device) + n * dist_utils.rank()
        return self._labels

    def forward(self, image_emb, text_emb, scale):
        all_image = dist_utils.concat_all_gather(image_emb)
        all_text = dist_utils.concat_all_gather(text_emb)
        logits_i = scale * image_emb @ all_text.t()
        logits_t = scale * text_emb @ all_image.t()
        y = self.labels(len(image_emb), image_emb.device)
        loss = (F.cross_entropy(logits_i, y, label_smoothing=self.label_smoothing)
                + F.cross_entropy(logits_t, y, label_smoothing=self.label_smoothing)) / 2
        with torch.no_grad():
            acc = (logits_i.argmax(1) == y).float().mean()
        return loss, acc
