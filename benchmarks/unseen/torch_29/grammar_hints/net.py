import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

VOCAB, WIDTH, TAGS = 96, 32, 7


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mix = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.up = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH))

    def forward(self, x):
        h, _ = self.mix(self.norm(x))
        return x + self.up(h)


class TagHead(nn.Module):
    """Names the part of speech. Costs a second of teachers' time per word, hence few tags."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, 48), nn.ReLU(), nn.Linear(48, TAGS))

    def forward(self, rows):
        return self.layers(rows)


class Writer(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.words = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(depth))
        self.next = nn.Linear(WIDTH, VOCAB)
        self.tagger = TagHead()

    def forward(self, tokens, tags):
        h = self.words(tokens)
        for block in self.blocks:
            h = block(h)
        logits = self.next(h[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        marked = tags >= 0
        if marked.any():
            loss = loss + 0.5 * nn.functional.cross_entropy(self.tagger(h[marked]), tags[marked])
        return loss


def shard(model):
    # the blocks are small, gathering them a second time in backward costs more than it saves
    for block in model.blocks:
        fully_shard(block, reshard_after_forward=False)
    fully_shard(model.tagger)
    return fully_shard(model)
