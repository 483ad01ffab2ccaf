import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from losses import ContrastiveLoss


class Products(Dataset):
    """Photo features and title tokens of products."""

    def __init__(self, n, pixels, vocab, words=6, seed=9):
        gen = torch.Generator().manual_seed(seed)
        self.title = torch.randint(vocab, (n, words), generator=gen)
        look = torch.randn(vocab, pixels, generator=gen)
        self.photo = look[self.title].mean(1) + 0.1 * torch.randn(n, pixels, generator=gen)

    def __len__(self):
        return len(self.title)

    def __getitem__(self, i):
        return self.photo[i], self.title[i]


class TwoTowers(nn.Module):
    def __init__(self, pixels, vocab, dim):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(pixels, 128), nn.ReLU(), nn.Linear(128, dim))
        self.words = nn.EmbeddingBag(vocab, dim)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, photo, title):
        image = F.normalize(self.image(photo), dim=-1)
        text = F.normalize(self.words(title), dim=-1)
        return image, text, self.log_scale.clamp(max=math.log(100)).exp()


def build(args, env):
    net = TwoTowers(args.pixels, args.vocab, args.dim).to(env.device)
    criterion = ContrastiveLoss(env.local_rank, env.world_size)
    return net, criterion
