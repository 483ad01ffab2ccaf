import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from ckpt import ShardedCheckpoint


class Keywords(Dataset):
    """Log-mel patches of spoken keywords."""

    def __init__(self, n, words, frames, mels, seed=8):
        gen = torch.Generator().manual_seed(seed)
        templates = torch.randn(words, frames, mels, generator=gen)
        self.word = torch.randint(words, (n,), generator=gen)
        self.feats = templates[self.word] + torch.randn(n, frames, mels, generator=gen)

    def __len__(self):
        return len(self.word)

    def __getitem__(self, i):
        return self.feats[i], self.word[i]


class Spotter(nn.Module):
    def __init__(self, words, frames, mels, width):
        super().__init__()
        self.out = nn.Linear(width, words)
        self.proj = nn.Linear(frames * mels, width)

    def forward(self, x):
        return self.out(F.relu(self.proj(x.flatten(1))))


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--samples", type=int, default=640)
    p.add_argument("--words", type=int, default=10)
    p.add_argument("--frames", type=int, default=40)
    p.add_argument("--mels", type=int, default=40)
    p.add_argument("--width", type=int, default=2048)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--ckpt-dir", default="checkpoints")
    p.add_argument("--keep", type=int, default=2)
    return p.parse_args()


def main():
    args = parse()
    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)

    data = Keywords(args.samples, args.words, args.frames, args.mels)
    sampler = DistributedSampler(data, world, rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    net = Spotter(args.words, args.frames, args.mels, args.width).to(device)
    ckpt = ShardedCheckpoint(args.ckpt_dir, keep=args.keep)
    state, step = ckpt.load_latest()
    if state is not None:
        net.load_state_dict(state)
    model = DDP(net, device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)

    for epoch in range(step // len(loader), args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2, device=device)
        for feats, word in loader:
            feats, word = feats.to(device), word.to(device)
            loss = F.cross_entropy(model(feats), word)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
            total[0] += loss.detach()
            total[1] += 1
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} step {step} loss {(total[0] / total[1]).item():.4f}", flush=True)
        ckpt.save(net.state_dict(), step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
