# Rain nowcasting: predict the next radar frame from the last four.
#   torchrun --nproc_per_node 2 train.py --steps 60 [--resume]
import argparse
import os
import warnings

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from zero import ShardedAdamW

warnings.filterwarnings("ignore", category=FutureWarning)


class ConvGRUCell(nn.Module):
    def __init__(self, cin, ch):
        super().__init__()
        self.gates = nn.Conv2d(cin + ch, 2 * ch, 3, padding=1)
        self.cand = nn.Conv2d(cin + ch, ch, 3, padding=1)
        self.ch = ch

    def forward(self, x, h):
        r, z = self.gates(torch.cat([x, h], 1)).sigmoid().chunk(2, 1)
        n = self.cand(torch.cat([x, r * h], 1)).tanh()
        return (1 - z) * h + z * n


class Nowcaster(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 3, padding=1)
        self.cell = ConvGRUCell(ch, ch)
        self.out = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.GELU(), nn.Conv2d(ch, 1, 1))

    def forward(self, frames):
        b, t, height, width = frames.shape
        h = frames.new_zeros(b, self.cell.ch, height, width)
        for i in range(t):
            h = self.cell(self.stem(frames[:, i:i + 1]), h)
        return self.out(h)[:, 0]


def radar_batch(gen, b, size=16, t=5):
    """Gaussian rain cells drifting over a torus, in mm/h."""
    pos = torch.rand(b, 3, 2, generator=gen) * size
    vel = torch.randn(b, 1, 2, generator=gen) * 1.5
    power = torch.rand(b, 3, generator=gen) * 30
    axis = torch.arange(size, dtype=torch.float32)
    frames = []
    for i in range(t):
        d = (axis[None, None, None, :] - (pos + i * vel)[..., None] + size / 2) % size - size / 2
        g = torch.exp(-d.pow(2) / 6)
        frames.append(torch.einsum("bk,bky,bkx->byx", power, g[:, :, 0], g[:, :, 1]))
    x = torch.stack(frames, 1)
    return x[:, :-1], x[:, -1]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--accum", type=int, default=2)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--max-norm", type=float, default=1.0)
    ap.add_argument("--dir", default="/tmp/nowcast")
    ap.add_argument("--resume", action="store_true")
    args = ap.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = Nowcaster()
    opt = ShardedAdamW(model, lr=args.lr, max_norm=args.max_norm)
    gen = torch.Generator().manual_seed(100 + rank)
    os.makedirs(args.dir, exist_ok=True)
    shard = os.path.join(args.dir, f"opt_{rank}_of_{world}.pt")
    start = 0
    if args.resume:
        state = torch.load(shard)
        opt.load_state_dict(state["opt"])
        gen.set_state(state["gen"])
        start = state["step"]

    for step in range(start, args.steps):
        opt.zero_grad()
        total = torch.zeros(())
        for _ in range(args.accum):
            x, y = radar_batch(gen, args.batch_size)
            loss = F.mse_loss(model(x), y) / args.accum
            loss.backward()
            total += loss.detach()
        norm = opt.step()
        dist.all_reduce(total)
        if rank == 0 and step % 10 == 0:
            print(f"step {step} mse {total.item() / world:.3f} gnorm {norm.item():.2f}", flush=True)

    torch.save({"opt": opt.state_dict(), "gen": gen.get_state(), "step": args.steps}, shard)
    dist.barrier()
    if rank == 0:
        torch.save(model.state_dict(), os.path.join(args.dir, "model.pt"))
        print("done", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
