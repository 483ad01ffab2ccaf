import torch
import torch.nn as nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.w1 = nn.Linear(d, h, bias=False)
        self.w2 = nn.Linear(h, d, bias=False)

    def forward(self, x):
        return self.w2(F.gelu(self.w1(x)))


class Top1MoE(nn.Module):
    """Switch-style layer: each token goes to its best expert."""

    def __init__(self, d, h, num_experts):
        super().__init__()
        self.router = nn.Linear(d, num_experts, bias=False)
        self.experts = nn.ModuleList(Expert(d, h) for _ in range(num_experts))
        self.last_load = None
        self.aux_loss = torch.zeros(())

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        probs = self.router(flat).softmax(-1)
        gate, chosen = probs.max(-1)
        out = torch.zeros_like(flat)
        load = torch.zeros(len(self.experts))
        for i, expert in enumerate(self.experts):
            idx = (chosen == i).nonzero(as_tuple=True)[0]
            if idx.numel() == 0:
                continue
            out = out.index_add(0, idx, gate[idx, None] * expert(flat[idx]))
            load[i] = idx.numel()
        self.last_load = load / len(flat)
        self.aux_loss = len(self.experts) * (self.last_load * probs.mean(0)).sum()
        return out.view_as(x)


class MoELM(nn.Module):
    def __init__(self, vocab, d=32, h=64, num_experts=8, context=4):
        super().__init__()
        self.context = context
        self.emb = nn.Embedding(vocab, d)
        self.mix = nn.Linear(context * d, d, bias=False)
        self.norm = nn.LayerNorm(d)
        self.moe = Top1MoE(d, h, num_experts)

    def forward(self, ids):
        e = F.pad(self.emb(ids), (0, 0, self.context - 1, 0))
        win = e.unfold(1, self.context, 1).flatten(2)
        x = self.mix(win)
        x = x + self.moe(self.norm(x))
        return F.linear(x, self.emb.weight)
