import torch


class CharCorpus:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        self.chars = sorted(set(text))
        index = {c: i for i, c in enumerate(self.chars)}
        self.ids = torch.tensor([index[c] for c in text])

    def batch(self, batch_size, block):
        start = torch.randint(len(self.ids) - block - 1, (batch_size,))
        rows = torch.stack([self.ids[s : s + block + 1] for s in start.tolist()])
        return rows[:, :-1], rows[:, 1:]
