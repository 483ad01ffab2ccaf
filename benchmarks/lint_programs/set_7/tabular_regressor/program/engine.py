import torch
import torch.nn as nn
import torch.nn.functional as F


class Regressor(nn.Module):
    def __init__(self, n_features, hidden, dropout, noise):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(
            nn.Linear(n_features, hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        if self.training and self.noise > 0:
            x = x + self.noise * torch.randn_like(x)
        return self.net(x)


def train_epoch(accelerator, model, optimizer, loader):
    model.train()
    total = torch.zeros(2, device=accelerator.device)
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        total += torch.stack([loss.detach() * len(x), torch.tensor(float(len(x)), device=loss.device)])
    total = accelerator.reduce(total, reduction="sum")
    return (total[0] / total[1]).item()


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    errors = []
    for x, y in loader:
        err = (model(x) - y).pow(2).squeeze(1)
        errors.append(accelerator.gather_for_metrics(err))
    return torch.cat(errors).mean().item()
