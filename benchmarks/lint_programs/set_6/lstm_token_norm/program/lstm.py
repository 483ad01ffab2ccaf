from torch import nn

from text import PAD


class WordLSTM(nn.Module):
    def __init__(self, vocab, dim=64, layers=1):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.LSTM(dim, dim, layers, batch_first=True)
        self.out = nn.Linear(dim, vocab)
        self.out.weight = self.embed.weight

    def forward(self, x):
        return self.out(self.rnn(self.embed(x))[0])
