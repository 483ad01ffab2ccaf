import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from checkpoint import CheckpointManager
from towers import TwoTower, clicks

USERS, ITEMS = 1000, 500


class Trainer:
    def __init__(self, args, device):
        self.args, self.device = args, device
        self.ckpt = CheckpointManager(args.ckpt_dir)
        state = self.ckpt.latest() if args.resume else None

        net = TwoTower(USERS, ITEMS)
        if state is not None:
            net.load_state_dict(state["model"])
        net.to(device)
        self.model = DistributedDataParallel(net, device_ids=[device.index] if device.type == "cuda" else None)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.epoch = 0
        if state is not None:
            self.opt.load_state_dict(state["optimizer"])
            self.epoch = state["epoch"] + 1

        data = clicks(args.clicks, USERS, ITEMS)
        self.sampler = DistributedSampler(data, shuffle=True, drop_last=True)
        self.loader = DataLoader(data, args.batch_size, sampler=self.sampler, drop_last=True)

    def train_epoch(self):
        self.sampler.set_epoch(self.epoch)
        self.model.train()
        total = torch.zeros((), device=self.device)
        for user, item in self.loader:
            logits = self.model(user.to(self.device), item.to(self.device))
            loss = F.cross_entropy(logits, torch.arange(len(user), device=self.device))
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()
            total += loss.detach()
        dist.all_reduce(total)
        return total.item() / len(self.loader) / dist.get_world_size()

    def run(self):
        while self.epoch < self.args.epochs:
            loss = self.train_epoch()
            if dist.get_rank() == 0:
                print(f"epoch {self.epoch} loss {loss:.4f}", flush=True)
            self.ckpt.save(self.model, self.opt, self.epoch)
            self.epoch += 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--clicks", type=int, default=20000)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--ckpt-dir", default="ckpts")
    p.add_argument("--resume", action="store_true")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    Trainer(args, device).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
