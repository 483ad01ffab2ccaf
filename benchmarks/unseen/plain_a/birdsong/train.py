import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from logbook import Logbook, RunningMean


class Spectrograms(Dataset):
    def __init__(self, n=720, species=8):
        self.n, self.species = n, species

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        y = i % self.species
        x = torch.randn(1, 20, 28, generator=g)
        x[:, 2 * y:2 * y + 3] += 1.0
        return x, y


def conv_bn(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, 2, 1, bias=False), nn.BatchNorm2d(o), nn.Hardswish())


class BirdNet(nn.Sequential):
    def __init__(self, species):
        super().__init__(conv_bn(1, 8), conv_bn(8, 16), nn.AdaptiveMaxPool2d(1), nn.Flatten(),
                         nn.Dropout(0.1), nn.Linear(16, species))


def mixup(x, y, species, alpha=0.2):
    lam = torch.distributions.Beta(alpha, alpha).sample()
    perm = torch.randperm(len(x))
    target = torch.nn.functional.one_hot(y, species).float()
    return lam * x + (1 - lam) * x[perm], lam * target + (1 - lam) * target[perm]


def fit(args):
    data = Spectrograms()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=args.batch, sampler=sampler, num_workers=args.workers)
    model = DDP(BirdNet(data.species))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    # stdout of the last rank ends up at the bottom of the job's log
    book = Logbook(every=args.log_every, enabled=dist.get_rank() == dist.get_world_size() - 1)
    loss_mean, acc_mean = RunningMean(), RunningMean()

    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            mixed, target = mixup(x, y, data.species)
            logits = model(mixed)
            loss = nn.functional.cross_entropy(logits, target)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            loss_mean.update(loss.item(), len(x))
            acc_mean.update((logits.argmax(1) == y).float().mean().item(), len(x))
            book.line(step, epoch=epoch, loss=loss_mean, acc=acc_mean, lr=opt.param_groups[0]["lr"])


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--workers", type=int, default=1)
    p.add_argument("--log-every", type=int, default=20)
    cli = p.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    fit(cli)
    dist.destroy_process_group()
