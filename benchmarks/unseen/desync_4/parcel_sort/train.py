import argparse
import logging

import torch
import torch.distributed as dist
from labels import DEPOTS, Labels, parse
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

log = logging.getLogger("parcels")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--labels", type=int, default=12800)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=1)
    return parser.parse_args()


def main():
    args = arguments()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    data = Labels(args.labels, unread=[4243])
    sampler = DistributedSampler(data, shuffle=False, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(256, 96), nn.ReLU(), nn.Dropout(0.1), nn.Linear(96, DEPOTS)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        correct = 0
        for number, (scans, depots) in enumerate(loader):
            try:
                target = parse(depots)
                logits = model(scans)
                loss = nn.functional.cross_entropy(logits, target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                correct += int((logits.argmax(1) == target).sum())
            except ValueError as error:
                log.warning("batch %d: %s", number, error)
        dist.barrier()
        counts = torch.tensor([correct, len(sampler)])
        dist.all_reduce(counts)
        log.info("epoch %d: %.3f", epoch, counts[0] / counts[1])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
