import torch
import torch.distributed as dist
import torch.nn.functional as F


def dice_loss(logits, target, eps=1.0):
    p = logits.sigmoid()
    inter = (p * target).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + eps)).mean()


def train_one_epoch(model, loader, optimizer, device):
    model.train()
    total = 0.0
    for img, mask in loader:
        img, mask = img.to(device), mask.to(device)
        logits = model(img)
        loss = F.binary_cross_entropy_with_logits(logits, mask) + dice_loss(logits, mask)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / max(1, len(loader))


@torch.no_grad()
def evaluate(net, loader, device):
    """Dice of every validation case, keyed by case id, on all processes."""
    net.eval()
    scores = {}
    for ids, img, mask in loader:
        pred = (net(img.to(device)) > 0).float()
        mask = mask.to(device)
        inter = (pred * mask).sum((1, 2, 3))
        dice = (2 * inter + 1) / (pred.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)
        scores.update(zip(ids.tolist(), dice.tolist()))
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, scores)
    merged = {}
    for part in parts:
        merged.update(part)
    return merged
