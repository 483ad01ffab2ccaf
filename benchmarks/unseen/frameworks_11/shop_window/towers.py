import torch
from torch import nn


class TextTower(nn.Module):
    def __init__(self, words: int, width: int):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.mix = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, words):
        return self.mix(self.embedding(words).mean(dim=1))


class PictureTower(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.GELU(), nn.Conv2d(16, width, 3, padding=1), nn.GELU())

    def forward(self, pictures):
        return self.body(pictures).mean(dim=(2, 3))


class ArticleModel(nn.Module):
    def __init__(self, words: int, categories: int, width: int = 48):
        super().__init__()
        self.text = TextTower(words, width)
        self.picture = PictureTower(width)
        self.head = nn.Linear(2 * width, categories)

    def forward(self, batch):
        text = self.text(batch.words)
        seen = torch.zeros_like(text)
        if batch.has_picture.any():
            seen = seen.index_put((batch.has_picture.nonzero().squeeze(1),), self.picture(batch.pictures))
        return self.head(torch.cat([text, seen], dim=1))
