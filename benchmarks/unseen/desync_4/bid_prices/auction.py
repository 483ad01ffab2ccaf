import time

import torch
from torch import nn
from torch.utils.data import Dataset


class Bids(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(23)
        self.features = torch.randn(count, 20, generator=generator)
        self.prices = self.features[:, :3].sum(1).mul(0.3).exp()
        self.prices[2131] = 0.0

    def __len__(self):
        return len(self.prices)

    def __getitem__(self, index):
        time.sleep(0.0095)
        return {"features": self.features[index], "price": self.prices[index]}


class Pricing(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.price = nn.Linear(width, 1)

    def forward(self, features, price):
        logarithm = self.price(self.body(features)).squeeze(-1)
        return (logarithm - price.log()).square().mean()
