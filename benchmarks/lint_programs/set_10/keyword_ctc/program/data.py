import torch
from torch.utils.data import Dataset, Sampler

N_MELS, N_TOKENS = 12, 10


class SyntheticSpeech(Dataset):
    """Utterances of 20 to 120 frames; each token lasts about ten frames."""

    def __init__(self, n, seed=5):
        g = torch.Generator().manual_seed(seed)
        self.frames = torch.randint(20, 121, (n,), generator=g).tolist()
        self.proto = torch.randn(N_TOKENS + 1, N_MELS, generator=g)

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(1000 + i)
        t = self.frames[i]
        tokens = torch.randint(1, N_TOKENS + 1, (max(1, t // 10),), generator=g)
        feats = self.proto[tokens].repeat_interleave(10, 0)
        feats = torch.cat([feats, torch.zeros(max(0, t - len(feats)), N_MELS)])[:t]
        return feats + 0.1 * torch.randn(feats.shape, generator=g), tokens


def collate(batch):
    feats = torch.nn.utils.rnn.pad_sequence([b[0] for b in batch], batch_first=True)
    feat_len = torch.tensor([len(b[0]) for b in batch])
    tok_len = torch.tensor([len(b[1]) for b in batch])
    return feats, feat_len, torch.cat([b[1] for b in batch]), tok_len


class FrameBudgetSampler(Sampler):
    """Batches of utterances of like length, at most max_frames after padding."""

    def __init__(self, frames, max_frames, rank, world_size, seed=0):
        self.frames = frames
        self.max_frames = max_frames
        self.rank, self.world_size = rank, world_size
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _pack(self, indices):
        batches, cur = [], []
        for i in sorted(indices, key=lambda i: self.frames[i]):
            if cur and self.frames[i] * (len(cur) + 1) > self.max_frames:
                batches.append(cur)
                cur = []
            cur.append(i)
        if cur:
            batches.append(cur)
        return batches

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(len(self.frames), generator=g).tolist()
        usable = len(order) // self.world_size * self.world_size
        batches = self._pack(order[self.rank:usable:self.world_size])
        for b in torch.randperm(len(batches), generator=g).tolist():
            yield batches[b]
