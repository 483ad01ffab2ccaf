import random

import torch
from torch.utils.data import Dataset

CHARS = "0123456789+="
PAD, EOS = len(CHARS), len(CHARS) + 1
VOCAB = len(CHARS) + 2
PROMPT, ANSWER = 12, 8


class Sums(Dataset):
    """'123+45=' -> '168'; prompts are left-padded to a common width."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            a, b = (rng.randrange(10 ** rng.randint(1, 4)) for _ in range(2))
            self.items.append((f"{a}+{b}=", str(a + b)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        prompt, answer = ([CHARS.index(c) for c in s] for s in self.items[i])
        prompt = [PAD] * (PROMPT - len(prompt)) + prompt
        answer = answer + [EOS]
        fill = ANSWER - len(answer)
        ids = torch.tensor(prompt + answer + [PAD] * fill)
        labels = torch.tensor([-100] * PROMPT + answer + [-100] * fill)
        return ids, labels
