import torch


class Evaluator:
    """Top-1 accuracy of a classifier over a loader."""

    def __init__(self, loader, device):
        self.loader = loader
        self.device = device

    @torch.no_grad()
    def run(self, model):
        was_training = model.training
        model.eval()
        correct = total = 0
        for images, labels in self.loader:
            prediction = model(images.to(self.device)).argmax(dim=1).cpu()
            correct += (prediction == labels).sum().item()
            total += labels.numel()
        model.train(was_training)
        return correct / max(total, 1)
