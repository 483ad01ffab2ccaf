import argparse
import os
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from net import ConvClassifier
from stream import ShardStream


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def collate(batch):
    ids, labels = zip(*batch)
    return pad_sequence(ids, batch_first=True), torch.tensor(labels)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--shards", required=True, help="glob")
    ap.add_argument("--steps", type=int, default=200_000)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--vocab", type=int, default=50_000)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--seed", type=int, default=17)
    ap.add_argument("--save-every", type=int, default=10_000)
    args = ap.parse_args()

    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    set_seed(args.seed + rank)

    ds = ShardStream(args.shards, rank, world, seed=args.seed, vocab=args.vocab)
    loader = DataLoader(ds, batch_size=args.batch, num_workers=args.workers, collate_fn=collate, pin_memory=True)

    model = DDP(ConvClassifier(args.vocab).cuda(), device_ids=[local])
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.steps)

    window = torch.zeros((), device="cuda")
    batches = iter(loader)
    for step in range(1, args.steps + 1):
        ids, y = next(batches)
        logits = model(ids.cuda(non_blocking=True))
        loss = F.binary_cross_entropy_with_logits(logits, y.cuda(non_blocking=True))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
        window += loss.detach()

        if step % 200 == 0:
            dist.all_reduce(window)
            if rank == 0:
                print(f"step {step} loss {window.item() / (200 * world):.4f} lr {sched.get_last_lr()[0]:.2e}", flush=True)
            window.zero_()
        if step % args.save_every == 0 and rank == 0:
            torch.save(model.module.state_dict(), f"toxic_{step}.pt")

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
