import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, tokens):
        return F.normalize(self.mlp(self.embed(tokens)), dim=-1)


class DualEncoder(nn.Module):
    def __init__(self, vocab=600, dim=64, temperature=0.07):
        super().__init__()
        self.query = Encoder(vocab, dim)
        self.passage = Encoder(vocab, dim)
        self.log_scale = nn.Parameter(torch.tensor(1.0 / temperature).log())

    def encode_query(self, tokens):
        return self.query(tokens)

    def encode_passage(self, tokens):
        return self.passage(tokens)

    def forward(self, query_tokens, passage_tokens):
        return self.encode_query(query_tokens), self.encode_passage(passage_tokens), self.log_scale.exp()


class GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        rows = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(rows, x.contiguous())
        return tuple(rows)

    @staticmethod
    def backward(ctx, *grads):
        stacked = torch.stack(grads)
        dist.all_reduce(stacked)
        return stacked[dist.get_rank()]


def in_batch_loss(query, passage, scale):
    """Every query against the passages of all ranks."""
    everything = torch.cat(GatherRows.apply(passage))
    first = dist.get_rank() * len(query)
    target = torch.arange(first, first + len(query), device=query.device)
    return F.cross_entropy(scale * query @ everything.T, target)
