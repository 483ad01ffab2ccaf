import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, Sampler


class Utterances(Dataset):
    """Log-mel features and character targets. Lengths follow a read-speech corpus."""

    def __init__(self, count, n_mels=40, vocab=28, seed=1):
        rng = random.Random(seed)
        self.frames = [max(24, min(400, int(rng.lognormvariate(4.4, 0.6)))) for _ in range(count)]
        self.n_mels = n_mels
        self.vocab = vocab
        self.seed = seed

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        text = torch.randint(1, self.vocab, (self.frames[i] // 12,), generator=g)
        slow = text.repeat_interleave(12)[: self.frames[i]]
        feats = torch.randn(self.frames[i], self.n_mels, generator=g) * 0.3
        feats[torch.arange(len(slow)), slow] += 1.0
        return feats, text


def collate(items):
    feats, texts = zip(*items)
    return (
        pad_sequence(feats, batch_first=True),
        torch.tensor([len(f) for f in feats]),
        torch.cat(texts),
        torch.tensor([len(t) for t in texts]),
    )


class FrameBatchSampler(Sampler):
    """Batches of utterances of like length that hold at most `max_frames` padded frames."""

    def __init__(self, frames, max_frames, rank, world_size, seed=0):
        self.frames = frames
        self.max_frames = max_frames
        self.rank = rank
        self.world_size = world_size
        self.seed = seed
        self.set_epoch(0)

    def set_epoch(self, epoch):
        self.batches = self._build(epoch)

    def _pack(self, indices):
        batches, current, longest = [], [], 0
        for i in indices:
            longest_with = max(longest, self.frames[i])
            if current and longest_with * (len(current) + 1) > self.max_frames:
                batches.append(current)
                current, longest_with = [], self.frames[i]
            current.append(i)
            longest = longest_with
        if current:
            batches.append(current)
        return batches

    def _build(self, epoch):
        rng = random.Random(f"{self.seed}-{epoch}")
        order = list(range(len(self.frames)))
        rng.shuffle(order)
        order = order[: len(order) // self.world_size * self.world_size]
        mine = order[self.rank :: self.world_size]
        mine.sort(key=self.frames.__getitem__)
        batches = self._pack(mine)
        rng.shuffle(batches)
        return batches

    def __iter__(self):
        return iter(self.batches)

    def __len__(self):
        return len(self.batches)
