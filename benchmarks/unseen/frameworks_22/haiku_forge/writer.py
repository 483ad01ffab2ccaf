"""Writing poems with a model whose weights are partitioned, and judging them."""

import torch
import torch.distributed as dist

from corpus import CONTEXT


class Writer:
    def __init__(self, engine, language):
        self.engine = engine
        self.language = language

    @torch.no_grad()
    def write(self, contexts, lengths):
        """Continues every row up to its length; returns the share of syllables that the language allows."""
        self.engine.eval()
        text = contexts.clone()
        good, total = 0, 0
        while True:
            unfinished = text.shape[1] < lengths
            if not unfinished.any():
                break
            context = text[:, -CONTEXT:]
            syllable = self.engine(context).argmax(-1)
            fits = self.language.allowed(context, syllable)
            good += fits[unfinished].sum().item()
            total += unfinished.sum().item()
            text = torch.cat([text, syllable[:, None]], dim=1)
        self.engine.train()
        return good, total

    def score(self, contexts, lengths):
        counts = torch.tensor(self.write(contexts, lengths), dtype=torch.float32)
        dist.all_reduce(counts)
        return (counts[0] / counts[1]).item()
