import torch
import torch.nn as nn


class LanguageExperts(nn.Module):
    """One feed-forward expert per language; a sentence goes to its language's expert."""

    def __init__(self, dim, languages):
        super().__init__()
        self.languages = list(languages)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 3 * dim), nn.GELU(), nn.Linear(3 * dim, dim))
            for _ in self.languages
        )

    def forward(self, hidden, lang):
        mixed = torch.zeros_like(hidden)
        for i, expert in enumerate(self.experts):
            rows = lang == i
            if not rows.any():
                continue
            mixed[rows] = expert(hidden[rows])
        return hidden + mixed
