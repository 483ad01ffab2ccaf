import argparse
from functools import partial

import lightning as L
import torch
from lightning.fabric.strategies import FSDPStrategy
from torch import nn
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch.utils.data import DataLoader, TensorDataset

from engine import Loop


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, bias):
        y = self.n1(x)
        x = x + self.attn(y, y, y, attn_mask=bias, need_weights=False)[0]
        return x + self.ff(self.n2(x))


class Decoder(nn.Module):
    def __init__(self, vocab, d=2048, h=16, depth=20, ctx=2048):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.layers = nn.ModuleList([Layer(d, h) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        t = ids.size(1)
        bias = torch.ones(t, t, dtype=torch.bool, device=ids.device).triu(1)
        x = self.tok(ids) + self.pos(torch.arange(t, device=ids.device))
        for layer in self.layers:
            x = layer(x, bias)
        return self.head(self.norm(x))


def load(path):
    blob = torch.load(path, mmap=True)
    return TensorDataset(blob["tokens"], blob["mask"])


def main(args):
    strategy = FSDPStrategy(
        auto_wrap_policy=partial(transformer_auto_wrap_policy, transformer_layer_cls={Layer}),
        state_dict_type="sharded",
    )
    fabric = L.Fabric(accelerator="cuda", devices=args.devices, strategy=strategy, precision="bf16-mixed")
    fabric.launch()
    fabric.seed_everything(2024)

    with fabric.init_module(empty_init=False):
        model = Decoder(args.vocab)
    model = fabric.setup(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    optimizer = fabric.setup_optimizers(optimizer)

    train = DataLoader(load(args.train), args.bs, shuffle=True, drop_last=True, num_workers=2)
    val = DataLoader(load(args.val), args.bs, drop_last=True, num_workers=2)
    train, val = fabric.setup_dataloaders(train, val)

    loop = Loop(fabric, model, optimizer, accum=args.accum, max_norm=args.max_norm)
    for epoch in range(args.epochs):
        if hasattr(train.sampler, "set_epoch"):
            train.sampler.set_epoch(epoch)
        loop.run_epoch(train)
        fabric.print(f"epoch {epoch}  val loss {loop.evaluate(val):.4f}")
        fabric.save(f"ckpt/epoch{epoch}", {"model": model, "optimizer": optimizer, "updates": loop.updates})


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--train", default="data/train.pt")
    p.add_argument("--val", default="data/val.pt")
    p.add_argument("--vocab", type=int, default=32000)
    p.add_argument("--devices", type=int, default=8)
    p.add_argument("--bs", type=int, default=4)
    p.add_argument("--accum", type=int, default=8)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--max-norm", type=float, default=0.5)
    main(p.parse_args())
