"""Sentence pools as laid out by the sharding job (sentences per language and shard)."""
import torch

LANGUAGES = ("en", "de", "sw")
MANIFEST = (
    {"en": 900, "de": 820, "sw": 410},
    {"en": 1400, "de": 960, "sw": 108},
    {"en": 880, "de": 790, "sw": 400},
)


class Shard:
    def __init__(self, index, per_language=4, length=10, vocab=200):
        self.left = dict(MANIFEST[index])
        self.per_language = per_language
        self.length, self.vocab = length, vocab
        self.g = torch.Generator().manual_seed(50 + index)

    def _draw(self):
        picks = []
        for code in LANGUAGES:
            take = min(self.per_language, self.left[code])
            self.left[code] -= take
            picks += [LANGUAGES.index(code)] * take
        while len(picks) < self.per_language * len(LANGUAGES):
            picks.append(len(picks) % 2)  # top up with the two large languages
        return torch.tensor(picks)

    def __iter__(self):
        while True:
            lang = self._draw()
            ids = torch.randint(0, self.vocab, (len(lang), self.length), generator=self.g)
            label = (ids.sum(1) + lang) % 5
            yield ids, lang, label
