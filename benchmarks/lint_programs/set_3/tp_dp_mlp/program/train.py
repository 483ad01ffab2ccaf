import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from parallel import Topology, average_over_dp, broadcast_batch, copy_to_tp, reduce_from_tp


class TPBlock(nn.Module):
    def __init__(self, d, hid, topo, gen):
        super().__init__()
        self.topo = topo
        up = torch.randn(hid, d, generator=gen) * d ** -0.5
        down = torch.randn(d, hid, generator=gen) * hid ** -0.5
        part = slice(topo.tp_rank * hid // topo.tp, (topo.tp_rank + 1) * hid // topo.tp)
        self.up = nn.Parameter(up[part].clone())
        self.down = nn.Parameter(down[:, part].clone())
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        h = copy_to_tp(self.norm(x), self.topo)
        return x + reduce_from_tp(F.gelu(h @ self.up.T) @ self.down.T, self.topo)


class MlpLM(nn.Module):
    def __init__(self, vocab, ctx, d, hid, layers, topo, seed):
        super().__init__()
        gen = torch.Generator().manual_seed(seed)
        self.emb = nn.Parameter(torch.randn(vocab, d, generator=gen) * 0.1)
        self.mix = nn.Parameter(torch.randn(d, ctx * d, generator=gen) * (ctx * d) ** -0.5)
        self.blocks = nn.ModuleList(TPBlock(d, hid, topo, gen) for _ in range(layers))

    def forward(self, ids):
        x = self.emb[ids].flatten(1) @ self.mix.T
        for b in self.blocks:
            x = b(x)
        return x @ self.emb.T


class Windows:
    def __init__(self, vocab, ctx, batch, seed):
        self.vocab, self.ctx, self.batch = vocab, ctx, batch
        self.gen = torch.Generator().manual_seed(seed)

    def next(self):
        start = torch.randint(self.vocab, (self.batch, 1), generator=self.gen)
        stride = torch.randint(1, 4, (self.batch, 1), generator=self.gen)
        return (start + stride * torch.arange(self.ctx + 1)) % self.vocab


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--tp", type=int, default=2)
    ap.add_argument("--steps", type=int, default=1000)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--vocab", type=int, default=128)
    ap.add_argument("--ctx", type=int, default=6)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    dev = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(dev)
    dist.init_process_group("nccl" if cuda else "gloo")
    topo = Topology(args.tp)
    model = MlpLM(args.vocab, args.ctx, 32, 128, 2, topo, args.seed).to(dev)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    data = Windows(args.vocab, args.ctx, args.batch_size, seed=args.seed + 1 + topo.dp_rank)

    for step in range(args.steps):
        if topo.tp_rank == 0:
            ids = data.next().to(dev)
        else:
            ids = torch.empty(args.batch_size, args.ctx + 1, dtype=torch.long, device=dev)
        ids = broadcast_batch(ids, topo)
        loss = F.cross_entropy(model(ids[:, :-1]), ids[:, -1])
        opt.zero_grad()
        loss.backward()
        average_over_dp(model.parameters(), topo)
        opt.step()
        if step % 100 == 0 or step == args.steps - 1:
            avg = loss.detach().clone()
            dist.all_reduce(avg, group=topo.dp_group)
            if topo.rank == 0:
                print(f"step {step} loss {avg.item() / topo.dp:.4f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
