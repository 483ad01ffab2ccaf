import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from acoustic import Acoustic
from batching import FrameBatchSampler
from corpus import Manifest, collate


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("manifest")
    ap.add_argument("--max-frames", type=int, default=40000)
    ap.add_argument("--epochs", type=int, default=50)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--warmup", type=int, default=4000)
    ap.add_argument("--exp", default="exp/ctc")
    a = ap.parse_args()

    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dev = torch.device("cuda", gpu)
    if rank == 0:
        os.makedirs(a.exp, exist_ok=True)

    data = Manifest(a.manifest)
    batches = FrameBatchSampler(data.lengths, a.max_frames, rank, world, seed=3)
    loader = DataLoader(data, batch_sampler=batches, collate_fn=collate, num_workers=6, pin_memory=True)

    model = DistributedDataParallel(Acoustic().to(dev), device_ids=[gpu])
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min((s + 1) / a.warmup, (a.warmup / (s + 1)) ** 0.5))

    step = 0
    for epoch in range(a.epochs):
        batches.set_epoch(epoch)
        model.train()
        totals = torch.zeros(2, device=dev)
        for feats, flen, text, tlen in loader:
            logp, olen = model(feats.to(dev, non_blocking=True), flen)
            loss = F.ctc_loss(logp.transpose(0, 1), text.to(dev), olen, tlen, zero_infinity=True)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sched.step()
            step += 1
            totals += torch.stack([loss.detach(), torch.ones_like(loss)])
            if rank == 0 and step % 100 == 0:
                print(f"epoch {epoch} step {step} ctc {loss.item():.3f} lr {sched.get_last_lr()[0]:.2e}", flush=True)
        dist.all_reduce(totals)
        if rank == 0:
            print(f"epoch {epoch} mean ctc {(totals[0] / totals[1]).item():.3f}", flush=True)
            torch.save(model.module.state_dict(), f"{a.exp}/epoch{epoch:02d}.pt")

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
