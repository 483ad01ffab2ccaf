import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, transforms

import snapshots
from diffusion import EMA, Denoiser, Schedule


class Trainer:
    def __init__(self, args):
        self.args = args
        self.gpu_id = int(os.environ["LOCAL_RANK"])
        self.rank = int(os.environ["RANK"])
        self.device = torch.device("cuda", self.gpu_id)

        tf = transforms.Compose([transforms.Resize(64), transforms.CenterCrop(64),
                                 transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                 transforms.Normalize([0.5] * 3, [0.5] * 3)])
        dataset = datasets.ImageFolder(args.images, tf)
        self.sampler = DistributedSampler(dataset, drop_last=True)
        self.loader = DataLoader(dataset, batch_size=args.batch_size, sampler=self.sampler, drop_last=True,
                                 num_workers=8, pin_memory=True)

        net = Denoiser(args.channels).to(self.device)
        self.optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
        self.ema = EMA(net)
        self.schedule = Schedule(args.timesteps, self.device)
        self.epochs_run, self.step = 0, 0
        path = snapshots.latest(args.snapshot_dir)
        if path is not None:
            self._load(net, path)
        self.model = DDP(net, device_ids=[self.gpu_id])

    def _load(self, net, path):
        snap = snapshots.read(path)
        net.load_state_dict(snap["model"])
        self.ema.net.load_state_dict(snap["ema"])
        self.optimizer.load_state_dict(snap["optimizer"])
        self.epochs_run, self.step = snap["epochs_run"], snap["step"]
        print(f"[GPU{self.gpu_id}] continuing from {path}")

    def _save(self):
        snapshots.write(self.args.snapshot_dir, self.step, {
            "model": self.model.module.state_dict(),
            "ema": self.ema.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "epochs_run": self.epochs_run,
            "step": self.step,
        })

    def _run_batch(self, x):
        t = torch.randint(0, self.schedule.steps, (x.size(0),), device=self.device)
        eps = torch.randn_like(x)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.mse_loss(self.model(self.schedule.noisy(x, t, eps), t), eps)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.ema.update(self.model.module)
        self.step += 1
        return loss.detach()

    def _run_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        total = torch.zeros((), device=self.device)
        for x, _ in self.loader:
            total += self._run_batch(x.to(self.device, non_blocking=True))
        # same number of batches everywhere
        dist.all_reduce(total, op=dist.ReduceOp.AVG)
        return total.item() / len(self.loader)

    def train(self):
        for epoch in range(self.epochs_run, self.args.total_epochs):
            loss = self._run_epoch(epoch)
            self.epochs_run = epoch + 1
            if self.rank == 0:
                print(f"epoch {epoch} step {self.step} loss {loss:.5f}", flush=True)
                if self.epochs_run % self.args.save_every == 0:
                    self._save()


def main():
    parser = argparse.ArgumentParser(description="DDPM on an image folder")
    parser.add_argument("images")
    parser.add_argument("--total-epochs", type=int, default=500)
    parser.add_argument("--save-every", type=int, default=5, help="epochs between snapshots")
    parser.add_argument("--snapshot-dir", default="snapshots")
    parser.add_argument("--batch-size", type=int, default=64, help="on each device")
    parser.add_argument("--channels", type=int, default=96)
    parser.add_argument("--timesteps", type=int, default=1000)
    parser.add_argument("--lr", type=float, default=2e-4)
    args = parser.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend="nccl")
    Trainer(args).train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
