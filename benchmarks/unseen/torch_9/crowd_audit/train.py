import time

import torch
import torch.distributed as dist
from torch import nn

from tally import Tally
from votes import CLASSES, FEATURES, Vendor

ROUNDS = 6
STEPS = 80


def training_round(model, optimizer, vendor):
    model.train()
    total = 0.0
    for x, y in vendor.training_batches(STEPS):
        loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(0.025)
    return total / STEPS


@torch.inference_mode()
def audit_round(model, vendor, number):
    net = model.module
    net.eval()
    tally = Tally()
    for item in vendor.audit(number):
        tally.count(net(item.features.unsqueeze(0)).argmax().item(), item)
    return tally.balanced_accuracy()


def main():
    torch.set_num_threads(1)
    dist.init_process_group(backend="gloo")
    rank = dist.get_rank()
    torch.manual_seed(8)
    net = nn.Sequential(nn.Linear(FEATURES, 48), nn.GELU(), nn.Dropout(0.1), nn.Linear(48, CLASSES))
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, ROUNDS)
    vendor = Vendor(rank)
    best = 0.0
    for number in range(ROUNDS):
        loss = training_round(model, optimizer, vendor)
        score = audit_round(model, vendor, number)
        schedule.step()
        best = max(best, score)
        if rank == 0:
            print(f"round {number}: loss {loss:.3f} balanced accuracy {score:.3f} (best {best:.3f})", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
