import torch.nn as nn


class Acoustic(nn.Module):
    def __init__(self, mels=80, hidden=512, layers=4, symbols=29):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv1d(mels, hidden, 5, stride=2, padding=2), nn.GELU())
        self.rnn = nn.GRU(hidden, hidden, layers, batch_first=True, bidirectional=True, dropout=0.1)
        self.out = nn.Linear(2 * hidden, symbols)

    def forward(self, feats, lens):
        x = self.sub(feats.transpose(1, 2)).transpose(1, 2)
        x, _ = self.rnn(x)
        return self.out(x).log_softmax(-1), (lens + 1) // 2
