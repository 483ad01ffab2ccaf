import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class PackedTokens(Dataset):
    def __init__(self, path, seq_len):
        self.tokens = np.memmap(path, dtype=np.uint32, mode="r")
        self.seq_len = seq_len

    def __len__(self):
        return (self.tokens.shape[0] - 1) // self.seq_len

    def __getitem__(self, idx):
        a = idx * self.seq_len
        t = torch.from_numpy(self.tokens[a : a + self.seq_len + 1].astype(np.int64))
        return t[:-1], t[1:]


def build_loader(dataset, batch_size, *, num_replicas=None, rank=None, shuffle=True, seed=0, workers=2):
    sampler = DistributedSampler(
        dataset, num_replicas=num_replicas, rank=rank, shuffle=shuffle, seed=seed, drop_last=True
    )
    return DataLoader(
        dataset, batch_size=batch_size, sampler=sampler, num_workers=workers, pin_memory=True, drop_last=True
    )
