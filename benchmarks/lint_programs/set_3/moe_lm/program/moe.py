import torch
import torch.nn as nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, d, hid):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(d, hid, bias=False), nn.Linear(hid, d, bias=False), nn.Linear(d, hid, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class SparseMoe(nn.Module):
    def __init__(self, d, hid, experts, top_k):
        super().__init__()
        self.router = nn.Linear(d, experts, bias=False)
        self.experts = nn.ModuleList(Expert(d, hid) for _ in range(experts))
        self.top_k = top_k
        self.balance = 0.0

    def forward(self, x):
        b, t, d = x.shape
        flat = x.reshape(-1, d)
        probs = self.router(flat).float().softmax(-1)
        weight, chosen = probs.topk(self.top_k, -1)
        weight = (weight / weight.sum(-1, keepdim=True)).to(x.dtype)
        load = F.one_hot(chosen, len(self.experts)).float().sum(1).mean(0)
        self.balance = len(self.experts) * (load * probs.mean(0)).sum()

        out = torch.zeros_like(flat)
        for e, expert in enumerate(self.experts):
            token, slot = (chosen == e).nonzero(as_tuple=True)
            if token.numel() == 0:
                continue
            y = expert(flat[token]) * weight[token, slot, None]
            out = out.index_add(0, token, y)
        return out.view(b, t, d)


class Layer(nn.Module):
    def __init__(self, d, heads, hid, experts, top_k):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.moe = SparseMoe(d, hid, experts, top_k)
        self.heads = heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, d))
        return x + self.moe(self.n2(x))


class MoeLM(nn.Module):
    def __init__(self, vocab, d=32, layers=2, heads=4, hid=64, experts=8, top_k=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(Layer(d, heads, hid, experts, top_k) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids, targets):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        loss = F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())
        return loss, sum(layer.moe.balance for layer in self.layers)
