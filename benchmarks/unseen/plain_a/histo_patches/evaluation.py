import torch


@torch.no_grad()
def evaluate(net, loader):
    """Top-1 accuracy of `net` on `loader`; restores the mode of the network."""
    was_training = net.training
    net.eval()
    hits = total = 0
    for images, labels in loader:
        logits = net(images)
        hits += (logits.argmax(1) == labels).sum().item()
        total += labels.numel()
    net.train(was_training)
    return hits / max(total, 1)
