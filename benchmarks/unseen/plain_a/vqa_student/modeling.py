import torch
from torch import nn

VOCAB, ANSWERS, REGIONS = 80, 15, 24


class TextEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.emb = nn.EmbeddingBag(VOCAB, dim)
        self.ff = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim))

    def forward(self, q):
        return self.ff(self.emb(q))


class VisualEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(REGIONS, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, v):
        return self.net(v)


class StudentVQA(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.text, self.visual = TextEncoder(dim), VisualEncoder(dim)
        self.answer = nn.Linear(dim, ANSWERS)

    def forward(self, question, image, has_image):
        h = self.text(question)
        idx = has_image.nonzero().squeeze(1)
        if len(idx) > 0:                       # only encode what is there
            h = h.index_add(0, idx, self.visual(image[idx]))
        return self.answer(h)


class Teacher(StudentVQA):
    def __init__(self):
        super().__init__(dim=64)
