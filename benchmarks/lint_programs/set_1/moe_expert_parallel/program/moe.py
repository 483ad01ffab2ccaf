"""Switch feed-forward layer (top-1 routing) with the experts spread over all ranks."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class _Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, send, recv):
        ctx.send, ctx.recv = send, recv
        out = rows.new_empty(sum(recv), rows.size(1))
        dist.all_to_all_single(out, rows.contiguous(), output_split_sizes=recv, input_split_sizes=send)
        return out

    @staticmethod
    def backward(ctx, grad):
        out = grad.new_empty(sum(ctx.send), grad.size(1))
        dist.all_to_all_single(
            out, grad.contiguous(), output_split_sizes=ctx.send, input_split_sizes=ctx.recv
        )
        return out, None, None


class Expert(nn.Sequential):
    def __init__(self, dim, hidden):
        super().__init__(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))
        for p in self.parameters():
            p.is_expert = True


class SwitchFFN(nn.Module):
    def __init__(self, dim, hidden, experts_per_rank):
        super().__init__()
        self.world = dist.get_world_size()
        self.local = experts_per_rank
        self.total = experts_per_rank * self.world
        self.router = nn.Linear(dim, self.total, bias=False)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(experts_per_rank))

    def route(self, rows):
        probs = F.softmax(self.router(rows).float(), dim=-1)
        weight, choice = probs.max(dim=-1)
        share = torch.bincount(choice, minlength=self.total)
        balance = self.total * (share / rows.size(0) * probs.mean(0)).sum()
        return weight, choice, share, balance

    def run_experts(self, rows, counts):
        """rows come sorted by (source rank, local expert); counts has the same layout."""
        owner = torch.arange(self.local, device=rows.device).repeat(self.world)
        owner = owner.repeat_interleave(counts.flatten())
        by_expert = owner.argsort(stable=True)
        pieces = rows[by_expert].split(counts.sum(0).tolist())
        done = torch.cat([expert(piece) for expert, piece in zip(self.experts, pieces)])
        return done[by_expert.argsort()]

    def forward(self, x):
        rows = x.flatten(0, -2)
        weight, choice, share, balance = self.route(rows)

        counts = torch.empty_like(share)
        dist.all_to_all_single(counts, share)
        counts = counts.view(self.world, self.local)
        send = share.view(self.world, self.local).sum(1).tolist()
        recv = counts.sum(1).tolist()

        order = choice.argsort(stable=True)
        arrived = _Exchange.apply(rows[order], send, recv)
        if arrived.size(0) == 0:
            return torch.zeros_like(x), balance
        done = self.run_experts(arrived, counts)
        back = _Exchange.apply(done, recv, send)

        y = back[order.argsort()] * weight.unsqueeze(1).to(back.dtype)
        return y.view(x.shape).to(x.dtype), balance
