import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class PackedTokens(Dataset):
    """Fixed windows over one long token stream."""

    def __init__(self, vocab, windows, length=33, seed=0):
        g = torch.Generator().manual_seed(seed)
        table = torch.randperm(vocab, generator=torch.Generator().manual_seed(99))
        stream = [0]
        jumps = torch.rand(windows * length, generator=g) < 0.1
        for jump in jumps.tolist():
            nxt = table[stream[-1]] if not jump else torch.randint(vocab, (), generator=g)
            stream.append(int(nxt))
        self.ids = torch.tensor(stream[: windows * length]).view(windows, length)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.ids[i, :-1], self.ids[i, 1:]


def build_dataloader(cfg, mesh, split):
    train = split == "train"
    ds = PackedTokens(cfg.vocab, cfg.windows if train else cfg.windows // 8, seed=0 if train else 1)
    sampler = DistributedSampler(ds, shuffle=train, seed=cfg.seed, drop_last=train)
    return DataLoader(ds, batch_size=cfg.batch_size, sampler=sampler, drop_last=train)
