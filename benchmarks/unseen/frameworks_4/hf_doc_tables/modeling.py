import torch
from torch import nn


class PageEncoder(nn.Module):
    def __init__(self, d_in, d):
        super().__init__()
        self.proj = nn.Linear(d_in, d)
        self.att = nn.MultiheadAttention(d, 2, batch_first=True)
        self.norm = nn.LayerNorm(d)

    def forward(self, boxes):
        h = self.proj(boxes)
        return self.norm(h + self.att(h, h, h, need_weights=False)[0])


class LayoutModel(nn.Module):
    """Region classes for every box, and cell coordinates for boxes that lie in tables."""

    def __init__(self, d_in=10, d=16, n_regions=5):
        super().__init__()
        self.encoder = PageEncoder(d_in, d)
        self.regions = nn.Linear(d, n_regions)
        self.cells = nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.Linear(d, 2))

    def cell_loss(self, h, coords, in_table):
        rows = h[in_table]
        if rows.shape[0] == 0:
            return h.new_zeros(())
        return nn.functional.smooth_l1_loss(self.cells(rows), coords[in_table])

    def forward(self, boxes, labels, coords, in_table):
        h = self.encoder(boxes)
        logits = self.regions(h)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        loss = loss + 0.5 * self.cell_loss(h, coords, in_table)
        return {"loss": loss, "logits": logits}
