import copy

import torch
from torch import nn
from torch.nn import functional as F


def build_net(features, classes):
    return nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, classes))


class Client:
    """One sensor site with data of its own (made from its number)."""

    def __init__(self, number, cfg):
        gen = torch.Generator().manual_seed(cfg["seed"] * 1000 + number)
        truth = torch.randn(cfg["features"], cfg["classes"], generator=torch.Generator().manual_seed(cfg["seed"]))
        count = int(torch.randint(40, 120, (1,), generator=gen))
        self.x = torch.randn(count, cfg["features"], generator=gen) + 0.3 * torch.randn(cfg["features"], generator=gen)
        self.y = (self.x @ truth).argmax(dim=1)
        self.gen = gen
        self.cfg = cfg

    def __len__(self):
        return len(self.x)

    def train(self, net, device):
        """Trains a copy of the global net; returns its weights as one vector."""
        net = copy.deepcopy(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=self.cfg["lr"])
        for _ in range(self.cfg["local_epochs"]):
            for rows in torch.randperm(len(self), generator=self.gen).split(self.cfg["batch_size"]):
                loss = F.cross_entropy(net(self.x[rows].to(device)), self.y[rows].to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return nn.utils.parameters_to_vector(net.parameters()).detach()
