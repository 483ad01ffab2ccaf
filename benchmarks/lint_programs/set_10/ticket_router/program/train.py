import argparse
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

from router.corpus import make_tickets
from router.model import BagRouter
from router.text import TicketDataset, build_labels, build_vocab


@dataclass
class Config:
    tickets: int = 800
    val_tickets: int = 200
    epochs: int = 3
    batch_size: int = 20
    lr: float = 5e-3
    seed: int = 3
    out: str = "work/router.pt"


class RouterTrainer:
    def __init__(self, cfg, device):
        self.cfg = cfg
        self.device = device
        self.rank = dist.get_rank()
        world = dist.get_world_size()
        train = make_tickets(cfg.tickets, cfg.seed)
        val = make_tickets(cfg.val_tickets, cfg.seed + 1)
        self.vocab = build_vocab(train)
        self.labels = build_labels(train)
        train_set = TicketDataset(train, self.vocab, self.labels)
        val_set = TicketDataset(val, self.vocab, self.labels)
        self.sampler = DistributedSampler(train_set, shuffle=True, seed=cfg.seed)
        self.loader = DataLoader(train_set, cfg.batch_size, sampler=self.sampler)
        self.val_loader = DataLoader(Subset(val_set, range(self.rank, len(val_set), world)), 64)
        torch.manual_seed(cfg.seed)
        model = BagRouter(len(self.vocab), len(self.labels)).to(device)
        self.model = DDP(model, device_ids=[device.index] if device.type == "cuda" else None)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.model.train()
        for ids, target in self.loader:
            ids, target = ids.to(self.device), target.to(self.device)
            loss = F.cross_entropy(self.model(ids), target)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def accuracy(self):
        self.model.eval()
        hits = torch.zeros(2, device=self.device)
        for ids, target in self.val_loader:
            ids, target = ids.to(self.device), target.to(self.device)
            pred = self.model.module(ids).argmax(1)
            hits += torch.tensor([(pred == target).sum(), target.numel()], device=self.device)
        dist.all_reduce(hits)
        return (hits[0] / hits[1]).item()

    def save(self):
        if self.rank == 0:
            os.makedirs(os.path.dirname(self.cfg.out), exist_ok=True)
            torch.save(
                {
                    "model": self.model.module.state_dict(),
                    "vocab": self.vocab,
                    "labels": self.labels,
                },
                self.cfg.out,
            )
        dist.barrier()

    def run(self):
        for epoch in range(self.cfg.epochs):
            self.train_epoch(epoch)
            acc = self.accuracy()
            if self.rank == 0:
                print(f"epoch {epoch}: accuracy {acc:.3f}", flush=True)
        self.save()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=Config.epochs)
    parser.add_argument("--lr", type=float, default=Config.lr)
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cpu")
    if cuda:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    RouterTrainer(Config(epochs=args.epochs, lr=args.lr), device).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
