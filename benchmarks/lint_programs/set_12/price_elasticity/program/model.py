import torch
from torch import nn


class ElasticityNet(nn.Module):
    """log(quantity) = base(product, season) - elasticity(product) * log(price)"""

    def __init__(self, products, width):
        super().__init__()
        self.product = nn.Embedding(products, width)
        self.base = nn.Sequential(nn.Linear(width + 2, width), nn.Tanh(), nn.Linear(width, 1))
        self.slope = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, product, season, log_price):
        e = self.product(product)
        wave = torch.stack([torch.sin(season), torch.cos(season)], -1)
        base = self.base(torch.cat([e, wave], -1)).squeeze(-1)
        slope = nn.functional.softplus(self.slope(e)).squeeze(-1)
        return base - slope * log_price
