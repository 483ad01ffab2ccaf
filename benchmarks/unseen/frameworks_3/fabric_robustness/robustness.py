"""Accuracy under FGSM, reported next to the clean accuracy."""
import torch
import torch.nn.functional as F


class RobustnessProbe:
    def __init__(self, loader, epsilons=(0.02, 0.1)):
        self.loader, self.epsilons = loader, epsilons

    def _perturb(self, model, x, y, eps):
        x = x.clone().requires_grad_(True)
        grad, = torch.autograd.grad(F.cross_entropy(model(x), y), x)
        return (x + eps * grad.sign()).detach()

    def run(self, model):
        model.eval()
        right = {eps: 0 for eps in self.epsilons}
        seen = 0
        for x, y in self.loader:
            seen += len(y)
            for eps in self.epsilons:
                adversarial = self._perturb(model, x, y, eps)
                right[eps] += (model(adversarial).argmax(-1) == y).sum().item()
        model.train()
        return {f"fgsm@{eps}": n / seen for eps, n in right.items()}
