import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from callbacks import Progress, SaveLast, WallClockLimit
from trainer import Trainer


class Folds(Dataset):
    """Random chains; residues with matching codes are in contact."""

    def __init__(self, n, length=24):
        self.n, self.length = n, length

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        seq = torch.randint(0, 20, (self.length,), generator=torch.Generator().manual_seed(i))
        return seq, ((seq[:, None] + seq[None]) % 7 == 0).float()


class ContactNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(20, dim)
        self.enc = nn.GRU(dim, dim // 2, batch_first=True, bidirectional=True)
        self.pair = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, seq):
        e = self.emb(seq)
        h = e + self.enc(e)[0]
        n = h.shape[1]
        left, right = h[:, :, None].expand(-1, n, n, -1), h[:, None].expand(-1, n, n, -1)
        return self.pair(torch.cat([left + right, left * right], -1)).squeeze(-1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--max-steps", type=int, default=100000)
    p.add_argument("--max-seconds", type=float, default=3600.0)
    p.add_argument("--chains", type=int, default=5000)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--log-every", type=int, default=50)
    p.add_argument("--last", default="last.pt")
    p.add_argument("--resume")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    model = DDP(ContactNet().to(device), device_ids=[device.index] if cuda else None)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    data = Folds(args.chains)
    loader = DataLoader(data, args.batch_size, sampler=DistributedSampler(data, drop_last=True), drop_last=True)
    callbacks = [Progress(args.log_every), WallClockLimit(args.max_seconds), SaveLast(args.last)]
    trainer = Trainer(model, opt, loader, callbacks, device)
    if args.resume and os.path.exists(args.resume):
        trainer.load(torch.load(args.resume, map_location=device))
    trainer.fit(args.max_steps)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
