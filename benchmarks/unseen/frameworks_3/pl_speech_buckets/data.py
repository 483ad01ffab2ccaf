import lightning as L
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

from batching import FrameBudgetBatches

CORPORA = ("audiobooks", "commands", "audiobooks", "lectures")


def utterance_lengths(kind, n):
    if kind == "commands":
        return [20 + (7 * i) % 11 for i in range(n)]
    return [40 + (7 * i) % 41 for i in range(n)]


class Utterances(Dataset):
    def __init__(self, lengths, seed):
        self.lengths, self.seed = lengths, seed

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 10_000 + i)
        return torch.randn(self.lengths[i], 13, generator=g), torch.tensor(i % 5)


def collate(rows):
    feats, label = zip(*rows)
    return pad_sequence(list(feats), batch_first=True), torch.tensor([len(f) for f in feats]), torch.stack(label)


class SpeechData(L.LightningDataModule):
    """Utterances are dealt out by corpus shard; a shard has as many utterances as every other."""

    def __init__(self, per_rank=204, budget=480):
        super().__init__()
        self.per_rank, self.budget = per_rank, budget

    def _loader(self, n, seed):
        kind = CORPORA[self.trainer.global_rank]
        lengths = utterance_lengths(kind, n)
        return DataLoader(Utterances(lengths, seed + self.trainer.global_rank), collate_fn=collate,
                          batch_sampler=FrameBudgetBatches(lengths, self.budget))

    def train_dataloader(self):
        return self._loader(self.per_rank, seed=1)

    def val_dataloader(self):
        return DataLoader(Utterances([30] * 24, 77), batch_size=8, collate_fn=collate)
