import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Questions(Dataset):
    """A question, its passage, and as many mined negatives as the miner found."""

    def __init__(self, cfg, seed):
        gen = torch.Generator().manual_seed(seed)
        n, length, vocab = cfg["questions"], cfg["length"], cfg["vocab"]
        self.passages = torch.randint(vocab, (n, length), generator=gen)
        self.mined = torch.randint(1, cfg["max_negatives"] + 1, (n,), generator=gen)
        self.noise = torch.randint(vocab, (n, cfg["max_negatives"], 3), generator=gen)

    def __len__(self):
        return len(self.passages)

    def __getitem__(self, i):
        passage = self.passages[i]
        question = passage[::2]
        negatives = passage.repeat(int(self.mined[i]), 1)
        negatives[:, ::4] = self.noise[i, : len(negatives), : negatives[:, ::4].size(1)]
        return question, passage, negatives


def collate(rows):
    questions, passages, negatives = zip(*rows)
    return torch.stack(questions), torch.stack(passages), torch.cat(negatives)


def build_loader(cfg, seed, shuffle):
    data = Questions(cfg, seed)
    sampler = DistributedSampler(data, shuffle=shuffle, seed=cfg["seed"], drop_last=shuffle)
    return DataLoader(data, batch_size=cfg["batch_size"], sampler=sampler, collate_fn=collate, drop_last=shuffle)
