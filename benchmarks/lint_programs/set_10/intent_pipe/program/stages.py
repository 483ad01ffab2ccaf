import torch.nn as nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.fc2(self.fc1(self.norm(x)).relu())


def build_stage(stage, n_stages, features, dim, classes, blocks):
    layers = []
    if stage == 0:
        layers.append(nn.Linear(features, dim))
    per = blocks // n_stages
    extra = blocks - per * n_stages if stage == n_stages - 1 else 0
    layers += [Block(dim) for _ in range(per + extra)]
    if stage == n_stages - 1:
        layers += [nn.LayerNorm(dim), nn.Linear(dim, classes)]
    return nn.Sequential(*layers)
