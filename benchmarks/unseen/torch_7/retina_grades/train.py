import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from retina.kappa import Agreement

log = logging.getLogger("retina")


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=48)
    p.add_argument("--trace-node", type=int, default=1, help="rank whose log goes to the study server")
    p.add_argument("--report", type=int, default=16)
    return p.parse_args()


def backbone():
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, stride=2), nn.GroupNorm(2, 6), nn.ReLU(),
        nn.Conv2d(6, 8, 3, stride=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))


def fundus(rank):
    g = torch.Generator().manual_seed(2024 + rank)
    while True:
        img = torch.rand(6, 3, 24, 24, generator=g)
        grade = (img.mean((1, 2, 3)) * 40 - 18).clamp(0, 3).long()
        yield img, grade


def train(args):
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = DDP(backbone(), gradient_as_bucket_view=True)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    agreement = Agreement()
    for it, (img, grade) in enumerate(fundus(rank)):
        if it == args.iters:
            return agreement.kappa()
        logits = net(img)
        loss = nn.functional.cross_entropy(logits, grade)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        agreement.update(logits.argmax(1), grade)
        time.sleep(0.02)
        if it % args.report == args.report - 1:
            log.info("iteration %d loss %.3f %s", it, loss.item(), agreement)


if __name__ == "__main__":
    args = parse()
    dist.init_process_group("gloo")
    logging.basicConfig(
        level=logging.INFO if dist.get_rank() == args.trace_node else logging.WARNING,
        format=f"%(asctime)s [{dist.get_rank()}] %(message)s")
    final = train(args)
    log.info("final kappa %.3f", final)
    dist.destroy_process_group()
