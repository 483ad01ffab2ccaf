import torch
from torch import nn
from torch.utils.data import Dataset

from scoring import UNKNOWN

WORDS = 200
LENGTH = 10
COURSES = 4


class Dishes(Dataset):
    """Dishes as word numbers, with the course they were served in.

    `uncoursed` are positions of dishes from a sheet on which courses are not told apart.
    """

    def __init__(self, count, seed, uncoursed=range(0)):
        g = torch.Generator().manual_seed(seed)
        self.course = torch.randint(COURSES, (count,), generator=g)
        common = torch.randint(WORDS, (count, LENGTH), generator=g)
        typical = self.course[:, None] * (WORDS // COURSES) + torch.randint(12, (count, LENGTH), generator=g)
        pick = torch.rand(count, LENGTH, generator=g) < 0.5
        self.words = torch.where(pick, typical, common)
        for i in uncoursed:
            self.course[i] = UNKNOWN

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return {"words": self.words[i], "labels": self.course[i]}


class CourseModel(nn.Module):
    main_input_name = "words"

    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.mix = nn.Sequential(nn.Linear(width, width), nn.GELU())
        self.head = nn.Linear(width, COURSES)

    def forward(self, words, labels=None):
        logits = self.head(self.mix(self.embed(words).mean(1)))
        if labels is None:
            return {"logits": logits}
        total = nn.functional.cross_entropy(logits, labels, ignore_index=UNKNOWN, reduction="sum")
        return {"loss": total / (labels != UNKNOWN).sum().clamp(min=1), "logits": logits}
