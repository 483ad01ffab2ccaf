import time

import torch


class NeighbourProbe:
    """Looks up disturbed sentences in an index of the clean ones, one query after the other."""

    def __init__(self, encoder, queries: int, index_size: int = 4000, vocab: int = 300):
        self.encoder = encoder
        self.queries = queries
        g = torch.Generator().manual_seed(77)
        self.clean = torch.randint(0, vocab, (index_size, 10), generator=g)
        self.noise = torch.randint(0, vocab, (queries, 2), generator=g)

    @torch.no_grad()
    def recall(self, k: int = 5) -> float:
        hits = 0
        for q in range(self.queries):
            index = self.encoder(self.clean)
            ids = self.clean[q].clone()
            ids[:2] = self.noise[q]
            score = index @ self.encoder(ids[None]).squeeze(0)
            hits += int(q in score.topk(k).indices)
            time.sleep(0.1)
        return hits / self.queries
