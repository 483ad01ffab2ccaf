import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F


class BiEncoder(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.words = nn.EmbeddingBag(vocab, width, mode="mean")
        self.ask = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))
        self.tell = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))

    def forward(self, questions, texts):
        q = F.normalize(self.ask(self.words(questions)), dim=-1)
        d = F.normalize(self.tell(self.words(texts)), dim=-1)
        return q, d


class GatherRows(torch.autograd.Function):
    """Rows of all ranks in order of rank; gradients go back to the rank that owns them."""

    @staticmethod
    def forward(ctx, rows):
        world, rank = dist.get_world_size(), dist.get_rank()
        parts = [torch.empty_like(rows) for _ in range(world)]
        dist.all_gather(parts, rows.contiguous())
        ctx.start = sum(p.size(0) for p in parts[:rank])
        ctx.count = rows.size(0)
        return torch.cat(parts), torch.tensor(ctx.start)

    @staticmethod
    def backward(ctx, grad, _):
        grad = grad.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(grad)
        return grad[ctx.start : ctx.start + ctx.count]


def contrast(q, d, temperature):
    """Each question against its own passage (the i-th of this rank) and all others."""
    everything, start = GatherRows.apply(d)
    target = int(start) + torch.arange(q.size(0), device=q.device)
    return F.cross_entropy(q @ everything.T / temperature, target)
