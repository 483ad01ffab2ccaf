"""CTC acoustic model.  torchrun --nproc-per-node 4 train.py --exp-root exp"""
import argparse
import json
import os
import uuid
from datetime import datetime
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset

from data import VOCAB, Utterances, collate


class Acoustic(nn.Module):
    def __init__(self, bands=16, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(bands, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, VOCAB)

    def forward(self, feats):
        return self.out(self.rnn(feats)[0]).log_softmax(-1)


def ctc(logp, feat_len, tokens, tok_len, reduction="mean"):
    return F.ctc_loss(logp.transpose(0, 1), tokens, feat_len, tok_len, reduction=reduction, zero_infinity=True)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    acc = torch.zeros(2, device=device)
    for feats, feat_len, tokens, tok_len in loader:
        loss = ctc(model(feats.to(device)), feat_len, tokens.to(device), tok_len, reduction="sum")
        acc += torch.tensor([loss.item(), len(feat_len)], device=device)
    dist.all_reduce(acc)
    model.train()
    return (acc[0] / acc[1]).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--exp-root", default="exp")
    p.add_argument("--tag", default="gru")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--seed", type=int, default=3)
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed + rank)

    run_id = f"{datetime.now():%m%d-%H%M}-{uuid.uuid4().hex[:6]}"
    run_dir = Path(args.exp_root) / f"{args.tag}-{run_id}"
    if rank == 0:
        run_dir.mkdir(parents=True)
        (run_dir / "args.json").write_text(json.dumps(vars(args), indent=2))

    train, dev, test = Utterances(96), Utterances(25, offset=50_000), Utterances(25, offset=90_000)
    sampler = DistributedSampler(train, shuffle=True, seed=args.seed)
    loader = DataLoader(train, args.batch_size, sampler=sampler, collate_fn=collate, drop_last=True)
    dev_loader = DataLoader(Subset(dev, range(rank, len(dev), world)), args.batch_size, collate_fn=collate)
    test_loader = DataLoader(Subset(test, range(rank, len(test), world)), args.batch_size, collate_fn=collate)

    model = DDP(Acoustic().to(device), device_ids=[local_rank] if cuda else None)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs * len(loader))

    best = float("inf")
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for feats, feat_len, tokens, tok_len in loader:
            loss = ctc(model(feats.to(device)), feat_len, tokens.to(device), tok_len)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sched.step()
        dev_loss = evaluate(model.module, dev_loader, device)
        if dev_loss < best:
            best = dev_loss
            if rank == 0:
                torch.save(model.module.state_dict(), run_dir / "best.pt")
        if rank == 0:
            print(f"epoch {epoch} dev {dev_loss:.3f} best {best:.3f}", flush=True)

    # report the test set with the best model
    dist.barrier()
    state = torch.load(run_dir / "best.pt", map_location=device, weights_only=True)
    model.module.load_state_dict(state)
    test_loss = evaluate(model.module, test_loader, device)
    if rank == 0:
        (run_dir / "result.json").write_text(json.dumps({"dev": best, "test": test_loss}))
        print(f"test {test_loss:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
