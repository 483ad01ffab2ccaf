import argparse
import collections
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from model import TwoHeadDetector


class Slices(Dataset):
    """Series from four clinics; not every clinic draws outlines."""

    def __init__(self, n=480, size=16):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def outlined(self, i):
        # contiguous weeks of the third clinic were never annotated
        return not (i % 4 == 0 and 200 <= i < 232)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        image = torch.randn(1, self.size, self.size, generator=g)
        mask = (image[0] > 0.5).float()
        return image, {"label": torch.tensor(i % 3), "mask": mask, "has_mask": torch.tensor(self.outlined(i))}


class History(collections.deque):
    def median(self):
        return sorted(self)[len(self) // 2] if self else float("nan")


def gathered_mean(value):
    """Mean of a scalar over the job, for the progress line."""
    box = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(box, value.detach().reshape(1))
    return torch.stack(box).mean().item()


def train_one_epoch(model, loader, optimizer, epoch, args):
    history = History(maxlen=20)
    for i, (image, target) in enumerate(loader):
        loss_dict = model(image, target)
        total = loss_dict["cls"] + args.mask_weight * loss_dict["mask"]
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        history.append(gathered_mean(total))
        if dist.get_rank() == 0 and i % args.print_freq == 0:
            print(f"Epoch [{epoch}] [{i}/{len(loader)}] loss {history.median():.4f}", flush=True)
        time.sleep(0.02)


def main():
    p = argparse.ArgumentParser("detector")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--mask-weight", type=float, default=0.5)
    p.add_argument("--print-freq", type=int, default=5)
    args = p.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = Slices()
    sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, args.batch_size, sampler=sampler)
    model = DistributedDataParallel(TwoHeadDetector())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train_one_epoch(model, loader, optimizer, epoch, args)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
