import torch
from torch import nn
from torch.utils.data import Dataset


class Utterances(Dataset):
    """Feature frames that spell out a word, three frames a letter."""

    def __init__(self, n, letters, letters_per_word, mels, seed=13):
        gen = torch.Generator().manual_seed(seed)
        shapes = torch.randn(letters + 1, mels, generator=gen)
        self.text = torch.randint(1, letters + 1, (n, letters_per_word), generator=gen)
        frames = shapes[self.text].repeat_interleave(3, dim=1)
        self.frames = frames + 0.3 * torch.randn(frames.shape, generator=gen)

    def __len__(self):
        return len(self.text)

    def __getitem__(self, i):
        return self.frames[i], self.text[i]


class Recogniser(nn.Module):
    def __init__(self, mels, letters, hidden):
        super().__init__()
        self.conv = nn.Conv1d(mels, hidden, 3, padding=1)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, letters + 1)

    def forward(self, frames):
        h = torch.relu(self.conv(frames.transpose(1, 2))).transpose(1, 2)
        return self.out(self.rnn(h)[0]).log_softmax(-1)


def ctc(logp, text):
    n, t = logp.shape[:2]
    return nn.functional.ctc_loss(
        logp.transpose(0, 1), text,
        torch.full((n,), t, dtype=torch.long), torch.full((n,), text.size(1), dtype=torch.long),
    )
