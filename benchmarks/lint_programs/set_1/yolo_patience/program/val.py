import torch

from utils.loss import build_targets, compute_loss


@torch.no_grad()
def run(model, loader, device, conf=0.3):
    """F1 over grid cells with the right class, and the mean loss."""
    model.eval()
    tp = n_pred = n_true = 0
    loss, batches = 0.0, 0
    for imgs, boxes in loader:
        imgs, boxes = imgs.to(device), boxes.to(device)
        out = model(imgs).float()
        loss += compute_loss(out, boxes)[0].item()
        batches += 1
        hit = out[..., 0].sigmoid() > conf
        cls = out[..., 5:].argmax(-1)
        b, gy, gx, t = build_targets(boxes, *out.shape[1:3])
        tp += (hit[b, gy, gx] & (cls[b, gy, gx] == t[:, 0].long())).sum().item()
        n_pred += hit.sum().item()
        n_true += len(t)
    f1 = 2 * tp / max(n_pred + n_true, 1)
    return f1, loss / max(batches, 1)
