import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

import dist_utils
from config import Config
from data import build_loader


class CausalBlock(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.heads = heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class LM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Parameter(torch.zeros(cfg.block, cfg.dim))
        self.blocks = nn.Sequential(CausalBlock(cfg.dim), CausalBlock(cfg.dim))
        self.head = nn.Linear(cfg.dim, cfg.vocab, bias=False)

    def forward(self, ids):
        return self.head(self.blocks(self.tok(ids) + self.pos))


def main():
    cfg = Config.from_cli()
    dist_utils.setup_distributed()
    torch.manual_seed(cfg.seed)
    model = LM(cfg)
    if dist_utils.get_world_size() > 1:
        model = DDP(model)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    loader = build_loader(cfg)

    for epoch in range(cfg.epochs):
        loader.dataset.epoch = epoch
        t0, steps, total = time.time(), 0, torch.zeros(2)
        for ids in loader:
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            steps += 1
            total += torch.tensor([loss.item() * ids.shape[0], ids.shape[0]])
        total = dist_utils.all_sum(total)
        if dist_utils.is_main_process():
            print(f"epoch {epoch} steps {steps} blocks {int(total[1])} "
                  f"loss {total[0] / total[1]:.3f} time {time.time() - t0:.1f}s", flush=True)
    dist_utils.cleanup()


if __name__ == "__main__":
    main()
