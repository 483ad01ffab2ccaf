import torch
import torch.nn as nn
import torch.nn.functional as F

from . import comm

META_ARCH = {}


def register(cls):
    META_ARCH[cls.__name__] = cls
    return cls


def build_model(cfg):
    return META_ARCH[cfg["META_ARCHITECTURE"]](cfg)


def focal(logits, target, alpha=0.25, gamma=2.0):
    p = logits.sigmoid()
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    pt = p * target + (1 - p) * (1 - target)
    a = alpha * target + (1 - alpha) * (1 - target)
    return (a * (1 - pt) ** gamma * ce).sum()


def conv(i, o, s):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1), nn.GroupNorm(4, o), nn.ReLU())


@register
class PointDetector(nn.Module):
    """One-level FCOS: class, ltrb and centerness for every stride-8 location."""

    stride = 8

    def __init__(self, cfg):
        super().__init__()
        w = cfg["WIDTH"]
        self.num_classes = cfg["NUM_CLASSES"]
        self.backbone = nn.Sequential(conv(3, w, 2), conv(w, w, 2), conv(w, w, 2))
        self.tower = conv(w, w, 1)
        self.cls = nn.Conv2d(w, self.num_classes, 3, 1, 1)
        self.reg = nn.Conv2d(w, 4, 3, 1, 1)
        self.ctr = nn.Conv2d(w, 1, 3, 1, 1)
        nn.init.constant_(self.cls.bias, -2.0)

    def locations(self, h, w, device):
        ys, xs = torch.meshgrid(torch.arange(h, device=device), torch.arange(w, device=device), indexing="ij")
        return torch.stack([xs, ys], -1).view(-1, 2).float() * self.stride + self.stride / 2

    @torch.no_grad()
    def assign(self, pts, boxes, labels):
        if len(boxes) == 0:
            return pts.new_full((len(pts),), -1).long(), pts.new_zeros(len(pts), 4)
        lt = pts[:, None] - boxes[None, :, :2]
        rb = boxes[None, :, 2:] - pts[:, None]
        ltrb = torch.cat([lt, rb], -1)
        area = ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]))[None].repeat(len(pts), 1)
        area[ltrb.min(-1).values <= 0] = float("inf")
        best, which = area.min(1)
        cls = labels[which].masked_fill(best.isinf(), -1)
        return cls, ltrb[torch.arange(len(pts)), which] / self.stride

    def forward(self, imgs, boxes, labels):
        feat = self.tower(self.backbone(imgs))
        cls, reg, ctr = (m(feat).flatten(2).transpose(1, 2) for m in (self.cls, self.reg, self.ctr))
        pts = self.locations(*feat.shape[-2:], imgs.device)
        tgt = [self.assign(pts, b, l) for b, l in zip(boxes, labels)]
        tgt_cls = torch.cat([t[0] for t in tgt])
        tgt_reg = torch.cat([t[1] for t in tgt])
        return self.losses(cls.flatten(0, 1), reg.flatten(0, 1), ctr.flatten(), tgt_cls, tgt_reg)

    def losses(self, cls, reg, ctr, tgt_cls, tgt_reg):
        pos = (tgt_cls >= 0).nonzero().squeeze(1)
        num_pos = max(comm.reduce_mean(pos.numel()), 1.0)
        onehot = torch.zeros_like(cls)
        onehot[pos, tgt_cls[pos]] = 1.0
        loss_cls = focal(cls, onehot) / num_pos

        reg, ctr, tgt_reg = F.softplus(reg[pos]), ctr[pos], tgt_reg[pos]
        if pos.numel() > 0:
            lr, tb = tgt_reg[:, [0, 2]], tgt_reg[:, [1, 3]]
            centerness = (lr.amin(1) / lr.amax(1) * tb.amin(1) / tb.amax(1)).clamp(min=0).sqrt()
            denorm = max(comm.reduce_mean(centerness.sum()), 1e-6)
            overlap = torch.minimum(reg, tgt_reg).sum(1) / torch.maximum(reg, tgt_reg).sum(1)
            loss_reg = ((1 - overlap) * centerness).sum() / denorm
            loss_ctr = F.binary_cross_entropy_with_logits(ctr, centerness, reduction="sum") / num_pos
        else:
            loss_reg = reg.sum()
            loss_ctr = ctr.sum()
        return {"loss_cls": loss_cls, "loss_reg": loss_reg, "loss_ctr": loss_ctr}
