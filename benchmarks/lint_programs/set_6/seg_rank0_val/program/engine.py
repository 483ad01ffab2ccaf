import torch
import torch.nn.functional as F


def train_epoch(model, loader, optimizer, scheduler, device):
    model.train()
    last = 0.0
    for image, mask in loader:
        image, mask = image.to(device), mask.to(device)
        loss = F.cross_entropy(model(image), mask)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
        last = loss.detach()
    return last


@torch.inference_mode()
def mean_iou(model, loader, num_classes, device):
    model.eval()
    confusion = torch.zeros(num_classes, num_classes, dtype=torch.long, device=device)
    for image, mask in loader:
        pred = model(image.to(device)).argmax(1).flatten()
        pairs = mask.to(device).flatten() * num_classes + pred
        confusion += torch.bincount(pairs, minlength=num_classes**2).view(num_classes, num_classes)
    inter = confusion.diagonal().double()
    union = confusion.sum(0) + confusion.sum(1) - confusion.diagonal()
    return (inter / union.clamp(min=1)).mean().item()
