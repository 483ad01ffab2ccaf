"""A corpus of ballads and its way to the network: words, packed into windows of one length, in batches."""

import time

import torch
from torchdata.nodes import BaseNode, Batcher, Mapper, ParallelMapper, SamplerWrapper

VOCABULARY = 120
STANZA = 28
REGIONS = ["Borders", "Appalachia", "Brittany"]


class Corpus:
    """Ballads of all regions, one after the other in turn; those of Brittany came down as fragments more often."""

    def __init__(self, per_region):
        self.per_region = per_region

    def __len__(self):
        return self.per_region * len(REGIONS)

    def __getitem__(self, number):
        region, place = number % len(REGIONS), number // len(REGIONS)
        stanzas = 3 + place % 5
        if REGIONS[region] == "Brittany" and place % 4 == 0:
            stanzas = 1
        g = torch.Generator().manual_seed(number)
        first = torch.randint(0, VOCABULARY, (STANZA,), generator=g)
        return torch.cat([(first + 5 * i) % VOCABULARY for i in range(stanzas)])


class Packer(BaseNode):
    """Joins ballads and cuts the text into windows, so that no batch has padding."""

    def __init__(self, source, window):
        super().__init__()
        self.source = source
        self.window = window
        self.rest = torch.empty(0, dtype=torch.long)

    def reset(self, initial_state=None):
        super().reset(initial_state)
        self.rest = torch.empty(0, dtype=torch.long)
        if initial_state is None:
            self.source.reset()
        else:
            self.rest = initial_state["rest"]
            self.source.reset(initial_state["source"])

    def next(self):
        while len(self.rest) < self.window + 1:
            self.rest = torch.cat([self.rest, next(self.source)])
        piece, self.rest = self.rest[: self.window + 1], self.rest[self.window :]
        return piece

    def get_state(self):
        return {"rest": self.rest, "source": self.source.state_dict()}


def read(corpus):
    def ballad(number):
        time.sleep(0.004)  # from the manuscript's transcript
        return corpus[number]

    return ballad


def collate(pieces):
    pieces = torch.stack(pieces)
    return pieces[:, :-1], pieces[:, 1:]


def pipeline(corpus, sampler, window, batch, threads=2):
    node = SamplerWrapper(sampler)
    node = ParallelMapper(node, read(corpus), num_workers=threads, in_order=True, method="thread")
    node = Packer(node, window)
    node = Batcher(node, batch, drop_last=True)
    return Mapper(node, collate)
