import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from dataset import load_clicks
from model import ClickNet

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="data/")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--batch-size", type=int, default=4096)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--save", default="clicknet.pt")


def setup():
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group(backend="nccl" if cuda else "gloo")
    return torch.device("cuda", local_rank) if cuda else torch.device("cpu")


def main():
    args = parser.parse_args()
    device = setup()
    torch.manual_seed(0)

    clicks, n_users, n_items = load_clicks(args.data)
    sampler = DistributedSampler(clicks, shuffle=True, drop_last=True)
    loader = DataLoader(clicks, batch_size=args.batch_size, sampler=sampler, drop_last=True, num_workers=2)

    model = ClickNet(n_users, n_items).to(device)
    model = DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        stats = torch.zeros(2, device=device)
        for users, items, hours, clicked in loader:
            users, items, hours, clicked = (t.to(device) for t in (users, items, hours, clicked))
            logits = model(users, items, hours)
            loss = F.binary_cross_entropy_with_logits(logits, clicked)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            stats += torch.stack([loss.detach() * len(clicked), torch.tensor(float(len(clicked)), device=device)])
        dist.all_reduce(stats)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: logloss {(stats[0] / stats[1]).item():.4f}", flush=True)

    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), args.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
