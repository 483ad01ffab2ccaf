"""A small model for the decay of peat from near-infrared spectra, taught by a large one."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

from distill import Distiller, Student, Teacher

BANDS, CLASSES = 40, 6
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("peat")


class Cores(Dataset):
    """Spectra along the cores of one bog, in their order; a campaign is one season in the field."""

    def __init__(self, bog, campaign, size):
        self.bog, self.campaign, self.size = bog, campaign, size

    def __len__(self):
        return self.size

    def saturated(self, position):
        """Cores from below the water table give next to no reflectance."""
        return self.bog == 2 and self.campaign >= 2 and 190 <= position < 212

    def __getitem__(self, position):
        seed = (self.campaign * 7 + self.bog) * 100_000 + position
        spectrum = 2.0 * torch.randn(BANDS, generator=torch.Generator().manual_seed(seed))
        return 0.001 * spectrum if self.saturated(position) else spectrum


def average(values):
    return sum(values) / max(len(values), 1)


def train_campaign(student, optimizer, distiller, loader):
    losses = []
    for spectra in loader:
        loss = distiller.loss(student, spectra)
        if loss is None:
            continue
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())
        time.sleep(0.02)
    return losses


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--campaigns", type=int, default=6)
    parser.add_argument("--cores", type=int, default=320)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--temperature", type=float, default=2.0)
    parser.add_argument("--confidence", type=float, default=0.5)
    parser.add_argument("--lr", type=float, default=1e-3)
    return parser.parse_args()


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(17)
    student = DDP(Student(BANDS, CLASSES, args.width))
    optimizer = torch.optim.AdamW(student.parameters(), lr=args.lr)
    distiller = Distiller(Teacher(BANDS, CLASSES), args.temperature, args.confidence)
    for campaign in range(args.campaigns):
        loader = DataLoader(Cores(rank, campaign, args.cores), batch_size=args.batch)
        losses = train_campaign(student, optimizer, distiller, loader)
        everyone = [None] * world
        dist.all_gather_object(everyone, {"rank": rank, "loss": average(losses), "steps": len(losses)})
        if rank == 0:
            log.info("campaign %d: %.4f", campaign, average([entry["loss"] for entry in everyone]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
