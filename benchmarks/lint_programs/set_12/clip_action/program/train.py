import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from tracking import Run
from trainer import Trainer


def make_clips(n, actions, seed):
    gen = torch.Generator().manual_seed(seed)
    label = torch.randint(actions, (n,), generator=gen)
    motion = torch.randn(actions, 3, 4, 8, 8, generator=gen)
    return TensorDataset(motion[label] + torch.randn(n, 3, 4, 8, 8, generator=gen), label)


def make_net(actions):
    return nn.Sequential(
        nn.Conv3d(3, 8, 3, padding=1), nn.ReLU(), nn.AvgPool3d(2), nn.Flatten(),
        nn.Linear(8 * 2 * 4 * 4, actions),
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--name", default="baseline")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--clips", type=int, default=256)
    p.add_argument("--actions", type=int, default=5)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--store", default="experiments")
    p.add_argument("--out-dir", default="weights")
    args = p.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)

    data = make_clips(args.clips, args.actions, seed=17)
    sampler = DistributedSampler(data, world, rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    net = make_net(args.actions).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
    run = Run(args.store, args.name, config=vars(args), rank=rank)
    Trainer(net, optimizer, loader, sampler, device, run, args.out_dir).fit(args.epochs)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
