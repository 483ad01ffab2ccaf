import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from data import Collator, ManifestDataset
from model import CTCEncoder


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--train", required=True)
    p.add_argument("--out", default="exp/ctc")
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--warmup", type=int, default=2000)
    p.add_argument("--max-frames", type=int, default=1600)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--log-every", type=int, default=50)
    return p.parse_args()


class Trainer:
    def __init__(self, args, rank, device):
        self.args, self.rank, self.device = args, rank, device
        model = CTCEncoder().to(device)
        self.model = DDP(model, device_ids=[device.index] if device.type == "cuda" else None)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=1e-2)
        self.sched = torch.optim.lr_scheduler.LambdaLR(
            self.opt, lambda s: min((s + 1) / args.warmup, (args.warmup / (s + 1)) ** 0.5))
        self.ctc = nn.CTCLoss(blank=0, zero_infinity=True)

        dataset = ManifestDataset(args.train)
        self.sampler = DistributedSampler(dataset, shuffle=True, seed=1234)
        self.loader = DataLoader(
            dataset, batch_size=args.batch_size, sampler=self.sampler,
            collate_fn=Collator(args.max_frames), num_workers=args.workers,
            pin_memory=device.type == "cuda", drop_last=True)

    def step(self, batch):
        batch = {k: v.to(self.device, non_blocking=True) for k, v in batch.items()}
        logp, lens = self.model(batch["feats"], batch["feat_lens"])
        loss = self.ctc(logp.transpose(0, 1), batch["targets"], lens, batch["target_lens"])
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.opt.step()
        self.sched.step()
        return loss.detach()

    def run_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.model.train()
        for i, batch in enumerate(self.loader):
            if batch is None:
                continue
            loss = self.step(batch)
            if self.rank == 0 and i % self.args.log_every == 0:
                print(f"epoch {epoch} it {i}/{len(self.loader)} loss {loss.item():.3f} "
                      f"lr {self.sched.get_last_lr()[0]:.2e}", flush=True)

    def save(self, epoch):
        if self.rank == 0:
            os.makedirs(self.args.out, exist_ok=True)
            torch.save({"model": self.model.module.state_dict(), "epoch": epoch},
                       os.path.join(self.args.out, f"epoch{epoch:03d}.pt"))
        dist.barrier()

    def fit(self):
        for epoch in range(self.args.epochs):
            self.run_epoch(epoch)
            self.save(epoch)


def main():
    args = parse_args()
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    torch.manual_seed(1234 + dist.get_rank())
    Trainer(args, dist.get_rank(), device).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
