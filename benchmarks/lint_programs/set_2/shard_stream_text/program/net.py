import torch.nn as nn


class ConvClassifier(nn.Module):
    def __init__(self, vocab, dim=256, layers=4, p=0.2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(dim, dim, 5, padding=2) for _ in range(layers)])
        self.drop = nn.Dropout(p)
        self.out = nn.Linear(dim, 1)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        for c in self.convs:
            x = x + self.drop(c(x).relu())
        return self.out(x.amax(-1)).squeeze(-1)
