import csv

import torch
import torchaudio
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

ALPHABET = "-' abcdefghijklmnopqrstuvwxyz"  # position 0 is the CTC blank
CHAR_TO_ID = {c: i for i, c in enumerate(ALPHABET)}


class ManifestDataset(Dataset):
    """tsv manifest: path <tab> transcript"""

    def __init__(self, manifest, n_mels=80):
        with open(manifest, newline="") as f:
            self.items = [row for row in csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE)]
        self.mel = torchaudio.transforms.MelSpectrogram(16000, n_fft=400, hop_length=160, n_mels=n_mels)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, text = self.items[i]
        wav, _ = torchaudio.load(path)
        feats = (self.mel(wav[0]) + 1e-6).log().t()
        feats = (feats - feats.mean()) / (feats.std() + 1e-5)
        ids = [CHAR_TO_ID[c] for c in text.lower() if c in CHAR_TO_ID and c != "-"]
        return feats, torch.tensor(ids, dtype=torch.long)


def collate(batch):
    feats, texts = zip(*batch)
    feat_len = torch.tensor([len(f) for f in feats])
    text_len = torch.tensor([len(t) for t in texts])
    return pad_sequence(feats, batch_first=True), feat_len, torch.cat(texts), text_len
