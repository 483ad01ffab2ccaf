import argparse
import contextlib
import os
from itertools import islice

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from charts import Captioner, ChartDataset


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--samples", type=int, default=768)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--micro-batch", type=int, default=8)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="work/captioner.pt")
    return p.parse_args()


class Trainer:
    def __init__(self, args, device):
        self.args = args
        self.device = device
        self.rank = dist.get_rank()
        dataset = ChartDataset(args.samples, seed=args.seed)
        self.sampler = DistributedSampler(dataset, seed=args.seed, drop_last=True)
        self.loader = DataLoader(
            dataset, args.micro_batch, sampler=self.sampler, drop_last=True
        )
        torch.manual_seed(args.seed)
        model = Captioner().to(device)
        ids = [device.index] if device.type == "cuda" else None
        self.model = DDP(model, device_ids=ids, gradient_as_bucket_view=True)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)

    def compute_loss(self, values, captions):
        logits = self.model(values, captions[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), captions[:, 1:].flatten())

    def train_step(self, micro_batches):
        self.optimizer.zero_grad()
        total = torch.zeros((), device=self.device)
        last = len(micro_batches) - 1
        for i, (values, captions) in enumerate(micro_batches):
            values, captions = values.to(self.device), captions.to(self.device)
            loss = self.compute_loss(values, captions) / len(micro_batches)
            sync = contextlib.nullcontext() if i == last else self.model.no_sync()
            with sync:
                loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.args.clip)
        self.optimizer.step()
        return total

    def train_epoch(self, epoch):
        self.model.train()
        self.sampler.set_epoch(epoch)
        batches = iter(self.loader)
        running, steps = torch.zeros((), device=self.device), 0
        while micro_batches := list(islice(batches, self.args.accum)):
            running += self.train_step(micro_batches)
            steps += 1
        mean = running / max(steps, 1)
        dist.all_reduce(mean)
        return mean.item() / dist.get_world_size()

    def save(self):
        if self.rank == 0:
            os.makedirs(os.path.dirname(self.args.out), exist_ok=True)
            torch.save(self.model.module.state_dict(), self.args.out)
        dist.barrier()

    def fit(self):
        for epoch in range(self.args.epochs):
            loss = self.train_epoch(epoch)
            if self.rank == 0:
                print(f"epoch {epoch}: loss {loss:.4f}", flush=True)
        self.save()


def main():
    args = parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cpu")
    if cuda:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    Trainer(args, device).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
