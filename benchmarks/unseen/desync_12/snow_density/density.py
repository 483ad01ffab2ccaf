import torch
from torch import nn

from pits import LAYERS


class DensityNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(LAYERS, width), nn.ELU(), nn.Linear(width, 1), nn.Softplus())

    def forward(self, hardness):
        return self.layers(hardness)


class WinterTrainer:
    """Trains over the pits with accumulated gradients."""

    def __init__(self, accelerator, model, optimizer, loader):
        self.accelerator = accelerator
        self.model, self.optimizer, self.loader = model, optimizer, loader
        self.loss = nn.MSELoss()
        self.batches, self.updates, self.error = 0, 0, 0.0

    def run(self, report=150):
        for number, batch in enumerate(self.loader):
            if batch["disturbed"].all():
                continue
            with self.accelerator.accumulate(self.model):
                predicted = self.model(batch["hardness"])
                loss = self.loss(predicted, batch["density"])
                self.accelerator.backward(loss)
                self.optimizer.step()
                self.optimizer.zero_grad()
            self.batches += 1
            self.updates += int(self.accelerator.sync_gradients)
            self.error = 0.9 * self.error + 0.1 * loss.item()
            if number % report == 0:
                self.accelerator.print(f"batch {number}: {self.error:.5f} after {self.updates} updates", flush=True)

    @torch.no_grad()
    def predict(self, hardness):
        network = self.accelerator.unwrap_model(self.model)
        return network(hardness)
