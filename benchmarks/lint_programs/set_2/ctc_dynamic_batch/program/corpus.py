import json

import torch
import torchaudio
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

ALPHABET = "_ 'abcdefghijklmnopqrstuvwxyz"
INDEX = {c: i for i, c in enumerate(ALPHABET)}


class Manifest(Dataset):
    """jsonl manifest: {"wav": path, "frames": int, "text": str}"""

    def __init__(self, path):
        with open(path) as f:
            self.rows = [json.loads(line) for line in f]
        self.mel = torchaudio.transforms.MelSpectrogram(16000, n_fft=400, hop_length=160, n_mels=80)

    @property
    def lengths(self):
        return [r["frames"] for r in self.rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        wav, _ = torchaudio.load(r["wav"])
        feats = self.mel(wav[0]).clamp(min=1e-6).log().t()
        text = torch.tensor([INDEX[c] for c in r["text"].lower() if c in INDEX])
        return feats, text


def collate(items):
    feats, texts = zip(*items)
    flen = torch.tensor([len(f) for f in feats])
    tlen = torch.tensor([len(t) for t in texts])
    return pad_sequence(feats, batch_first=True), flen, torch.cat(texts), tlen
