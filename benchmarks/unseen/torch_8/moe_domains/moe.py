import torch
from torch import nn


class Expert(nn.Sequential):
    def __init__(self, dim, hidden):
        super().__init__(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))


class DomainMixture(nn.Module):
    """Rows are sent to the expert of their domain (0 news, 1 code, 2 chat)."""

    def __init__(self, vocab, dim, hidden, domains=3):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(domains))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 10)

    def _dispatch(self, h, domain):
        mixed = torch.zeros_like(h)
        for d, expert in enumerate(self.experts):
            rows = (domain == d).nonzero(as_tuple=True)[0]
            if rows.numel() == 0:
                continue
            mixed = mixed.index_add(0, rows, expert(h[rows]))
        return mixed

    def forward(self, tokens, domain):
        h = self.embed(tokens)
        return self.head(self.norm(h + self._dispatch(h, domain)))
