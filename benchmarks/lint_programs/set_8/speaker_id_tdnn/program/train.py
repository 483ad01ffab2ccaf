#!/usr/bin/env python3
import argparse
import json
import logging
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from data import UtteranceSet, build_speaker_map, make_manifest, split_manifest
from model import SpeakerNet


def init(cfg):
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend)
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    if backend == "nccl":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    torch.manual_seed(cfg["seed"] + rank)
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format=f"%(asctime)s [{rank}/{world}] %(message)s")
    return rank, world, device


@torch.no_grad()
def evaluate(model, dev_set, rank, world, device, batch_size):
    """Every process scores its own slice of the dev set, counts are summed."""
    model.eval()
    mine = torch.utils.data.Subset(dev_set, range(rank, len(dev_set), world))
    counts = torch.zeros(2, dtype=torch.float64, device=device)
    for x, y in DataLoader(mine, batch_size):
        pred = model(x.to(device)).argmax(1)
        counts[0] += (pred == y.to(device)).sum()
        counts[1] += y.numel()
    dist.all_reduce(counts)
    model.train()
    return (counts[0] / counts[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="conf/base.json")
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    with open(args.config) as f:
        cfg = json.load(f)
    if args.epochs:
        cfg["epochs"] = args.epochs

    rank, world, device = init(cfg)

    rows = make_manifest(cfg["num_speakers"], cfg["utts_per_speaker"], cfg["seed"])
    spk2id = build_speaker_map(rows)
    train_rows, dev_rows = split_manifest(rows)
    train_set = UtteranceSet(train_rows, spk2id, cfg["feat_dim"], cfg["frames"], augment=True)
    dev_set = UtteranceSet(dev_rows, spk2id, cfg["feat_dim"], cfg["frames"])
    logging.info("%d train / %d dev utterances, %d speakers", len(train_set), len(dev_set), len(spk2id))

    sampler = DistributedSampler(train_set, seed=cfg["seed"])
    loader = DataLoader(train_set, cfg["batch_size"], sampler=sampler, drop_last=True)

    model = SpeakerNet(cfg, len(spk2id)).to(device)
    ddp = DDP(model, device_ids=[device.index] if device.type == "cuda" else None)
    optim = torch.optim.Adam(ddp.parameters(), lr=cfg["lr"])
    sched = torch.optim.lr_scheduler.OneCycleLR(optim, cfg["lr"], total_steps=cfg["epochs"] * len(loader))

    best = 0.0
    for epoch in range(cfg["epochs"]):
        sampler.set_epoch(epoch)
        stats = torch.zeros(3, dtype=torch.float64, device=device)
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss, cos = ddp(x, y)
            optim.zero_grad()
            loss.backward()
            optim.step()
            sched.step()
            stats[0] += loss.item() * y.numel()
            stats[1] += (cos.argmax(1) == y).sum().item()
            stats[2] += y.numel()
        dist.all_reduce(stats)
        acc = evaluate(model, dev_set, rank, world, device, cfg["batch_size"])
        logging.info("epoch %d loss %.3f train acc %.3f dev acc %.3f", epoch,
                     (stats[0] / stats[2]).item(), (stats[1] / stats[2]).item(), acc)
        if acc >= best:
            best = acc
            if rank == 0:
                os.makedirs(cfg["exp_dir"], exist_ok=True)
                torch.save({"model": model.state_dict(), "spk2id": spk2id, "acc": acc},
                           os.path.join(cfg["exp_dir"], "best.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
