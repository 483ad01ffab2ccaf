import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset


class PairDataset(Dataset):
    def __init__(self, size, seed, latent=16, image_dim=64, text_dim=48):
        g = torch.Generator().manual_seed(11)
        to_image = torch.randn(latent, image_dim, generator=g)
        to_text = torch.randn(latent, text_dim, generator=g)
        g = torch.Generator().manual_seed(seed)
        z = torch.randn(size, latent, generator=g)
        self.images = torch.tanh(z @ to_image) + 0.1 * torch.randn(size, image_dim, generator=g)
        self.texts = torch.tanh(z @ to_text) + 0.1 * torch.randn(size, text_dim, generator=g)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.texts[i]


def tower(in_dim, hidden, out_dim):
    return nn.Sequential(nn.Linear(in_dim, hidden), nn.GELU(), nn.Linear(hidden, out_dim))


class DualEncoder(nn.Module):
    def __init__(self, image_dim=64, text_dim=48, hidden=128, embed_dim=32):
        super().__init__()
        self.image = tower(image_dim, hidden, embed_dim)
        self.text = tower(text_dim, hidden, embed_dim)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, images, texts):
        return (
            F.normalize(self.image(images), dim=-1),
            F.normalize(self.text(texts), dim=-1),
            self.logit_scale.clamp(max=math.log(100)).exp(),
        )
