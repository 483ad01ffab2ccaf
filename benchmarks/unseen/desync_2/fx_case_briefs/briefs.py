"""Synthetic case briefs as token sequences, read through torchdata nodes."""
import torch
from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper

VOCAB = 60
APPENDIX = {0: 483}  # court: the brief with the exhibits attached


class BriefReader:
    def __init__(self, court):
        self.court = court
        self.table = torch.randint(0, VOCAB, (VOCAB, 3), generator=torch.Generator().manual_seed(2))

    def __call__(self, number):
        g = torch.Generator().manual_seed(self.court * 50_000 + number)
        length = int(torch.randint(70, 120, (), generator=g))
        if APPENDIX.get(self.court) == number:
            length += 260
        picks = torch.randint(0, 3, (length,), generator=g).tolist()
        tokens = [int(torch.randint(0, VOCAB, (), generator=g))]
        follow = self.table.tolist()
        for p in picks[1:]:
            tokens.append(follow[tokens[-1]][p])
        return torch.tensor(tokens)


def brief_loader(court, briefs, batch_size):
    node = IterableWrapper(range(briefs))
    node = Mapper(node, BriefReader(court))
    return Loader(Batcher(node, batch_size=batch_size, drop_last=True))
