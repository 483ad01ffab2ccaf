import torch
import torch.nn.functional as F


def build_targets(boxes, gh, gw):
    """boxes [B, M, 5], cls < 0 marks padding; returns cell indices and the boxes that own them."""
    b, m = (boxes[..., 0] >= 0).nonzero(as_tuple=True)
    t = boxes[b, m]
    gx = (t[:, 1] * gw).long().clamp(0, gw - 1)
    gy = (t[:, 2] * gh).long().clamp(0, gh - 1)
    return b, gy, gx, t


def compute_loss(pred, boxes):
    B, gh, gw, _ = pred.shape
    b, gy, gx, t = build_targets(boxes, gh, gw)
    obj = torch.zeros(B, gh, gw, device=pred.device)
    obj[b, gy, gx] = 1.0
    lobj = F.binary_cross_entropy_with_logits(pred[..., 0], obj, pos_weight=pred.new_tensor(4.0))
    p = pred[b, gy, gx]
    offset = torch.stack([t[:, 1] * gw - gx, t[:, 2] * gh - gy], 1)
    lbox = F.mse_loss(p[:, 1:3].sigmoid(), offset, reduction="sum") + \
        F.mse_loss(p[:, 3:5].sigmoid(), t[:, 3:5], reduction="sum")
    lcls = F.cross_entropy(p[:, 5:], t[:, 0].long(), reduction="sum")
    n = max(t.shape[0], 1)
    loss = lobj + (5.0 * lbox + lcls) / n
    return loss, torch.stack([lobj, lbox / n, lcls / n]).detach()
