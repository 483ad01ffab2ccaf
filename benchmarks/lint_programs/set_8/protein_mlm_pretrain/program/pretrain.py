import argparse
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler

from modeling import ProtConfig, ProtMLM
from seqdata import SyntheticProteins


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=20)
    ap.add_argument("--batch_size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--warmup", type=int, default=5)
    ap.add_argument("--passes", type=int, default=6)
    ap.add_argument("--groups", type=int, default=2)
    ap.add_argument("--grad_ckpt", action="store_true")
    ap.add_argument("--log_every", type=int, default=5)
    ap.add_argument("--save", default="protein_mlm.pt")
    args = ap.parse_args()
    args.grad_ckpt |= args.passes >= 6
    args.world_size = int(os.environ.get("WORLD_SIZE", 1))
    args.rank = int(os.environ.get("RANK", 0))
    args.local_rank = int(os.environ.get("LOCAL_RANK", 0))
    return args


def batches(loader, sampler):
    epoch = 0
    while True:
        if isinstance(sampler, DistributedSampler):
            sampler.set_epoch(epoch)
        for b in loader:
            yield b
        epoch += 1


def main():
    args = get_args()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", args.local_rank) if cuda else torch.device("cpu")
    if args.world_size > 1:
        if cuda:
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(42)

    ds = SyntheticProteins()
    sampler = DistributedSampler(ds, seed=7) if args.world_size > 1 else RandomSampler(ds)
    loader = DataLoader(ds, args.batch_size, sampler=sampler, collate_fn=ds.collate, drop_last=True)

    cfg = ProtConfig(passes=args.passes, groups=args.groups, grad_ckpt=args.grad_ckpt)
    model = ProtMLM(cfg).to(device)
    net = model
    if args.world_size > 1:
        net = DistributedDataParallel(model, device_ids=[args.local_rank] if cuda else None)

    decay = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() <= 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
                            lr=args.lr)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / args.warmup))

    net.train()
    t0 = time.time()
    for step, (ids, labels) in zip(range(1, args.steps + 1), batches(loader, sampler)):
        loss = net(ids.to(device), labels.to(device))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % args.log_every == 0:
            shown = loss.detach().clone()
            if args.world_size > 1:
                dist.all_reduce(shown)
                shown /= args.world_size
            if args.rank == 0:
                print(f"step {step:4d} loss {shown.item():.4f} ({time.time() - t0:.1f}s)", flush=True)

    if args.rank == 0:
        torch.save({"config": vars(cfg), "model": model.state_dict()}, args.save)
    if args.world_size > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
