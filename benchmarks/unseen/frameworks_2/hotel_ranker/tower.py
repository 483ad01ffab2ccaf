import torch
from torch import nn


class HotelTower(nn.Module):
    def __init__(self, width=10, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.score = nn.Linear(hidden, 1)
        self.stay = nn.Linear(hidden, 1)

    def forward(self, hotels):
        hidden = self.body(hotels)
        return self.score(hidden).squeeze(-1), torch.relu(self.stay(hidden.mean(dim=1))).squeeze(-1)
