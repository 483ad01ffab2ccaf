"""Manifest handling. A manifest row is (utterance id, speaker id, seed)."""
import random

import torch
from torch.utils.data import Dataset

SITES = ["bak", "cor", "dun", "elm"]


def make_manifest(num_speakers, utts_per_speaker, seed):
    rng = random.Random(seed)
    rows = []
    for s in range(num_speakers):
        spk = f"{SITES[s % len(SITES)]}{rng.randrange(1000, 9999)}"
        for u in range(utts_per_speaker):
            rows.append((f"{spk}-{u:03d}", spk, rng.randrange(1 << 30)))
    return rows


def split_manifest(rows, every=6):
    train = [r for i, r in enumerate(rows) if i % every]
    dev = [r for i, r in enumerate(rows) if i % every == 0]
    return train, dev


def build_speaker_map(rows):
    speakers = set(spk for _, spk, _ in rows)
    return {spk: idx for idx, spk in enumerate(speakers)}


def voice_of(spk, feat_dim):
    g = torch.Generator().manual_seed(int.from_bytes(spk.encode(), "little") % (1 << 31))
    return torch.randn(feat_dim, generator=g)


class UtteranceSet(Dataset):
    def __init__(self, rows, spk2id, feat_dim, frames, augment=False):
        self.rows = rows
        self.spk2id = spk2id
        self.feat_dim = feat_dim
        self.frames = frames
        self.augment = augment
        self.voices = {spk: voice_of(spk, feat_dim) for spk in spk2id}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        _, spk, seed = self.rows[i]
        g = torch.Generator().manual_seed(seed)
        x = torch.randn(self.feat_dim, self.frames, generator=g)
        x = x + self.voices[spk][:, None]
        if self.augment:
            t = torch.randint(0, self.frames - 5, (1,)).item()
            x[:, t:t + 5] = 0
        return x, self.spk2id[spk]
