import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from backbone import pretrained
from unfreeze import GradualUnfreeze


class Plants(Dataset):
    def __init__(self, path):
        with np.load(path) as z:
            self.images, self.labels = z["images"], z["labels"]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        x = torch.from_numpy(self.images[i]).float().permute(2, 0, 1) / 255 - 0.5
        if torch.rand(()) < 0.5:
            x = x.flip(2)
        return x, int(self.labels[i])


def wrap(net, device):
    return DistributedDataParallel(net, device_ids=[device.index] if device.type == "cuda" else None)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", required=True)
    ap.add_argument("--weights")
    ap.add_argument("--classes", type=int, default=102)
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--unfreeze-every", type=int, default=3)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--out", default="plants.pt")
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    torch.manual_seed(100 + dist.get_rank())

    dataset = Plants(args.train)
    sampler = DistributedSampler(dataset, shuffle=True, drop_last=True)
    loader = DataLoader(dataset, args.batch_size, sampler=sampler, drop_last=True, num_workers=2)

    net = pretrained(args.classes, args.weights).to(device)
    optimizer = torch.optim.SGD(net.head.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    schedule = GradualUnfreeze(net, optimizer, args.unfreeze_every, args.lr)
    model = wrap(net, device)

    for epoch in range(args.epochs):
        if schedule.start_epoch(epoch) and dist.get_rank() == 0:
            print(f"epoch {epoch}: {len(schedule.waiting)} stages still frozen", flush=True)
        sampler.set_epoch(epoch)
        model.train()
        stats = torch.zeros(3, device=device)
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            stats += torch.stack([loss.detach() * len(y), (logits.argmax(1) == y).sum().float(),
                                  torch.tensor(float(len(y)), device=device)])
        dist.all_reduce(stats)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {(stats[0] / stats[2]).item():.3f} "
                  f"acc {(stats[1] / stats[2]).item():.3f}", flush=True)

    if dist.get_rank() == 0:
        torch.save(net.state_dict(), args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
