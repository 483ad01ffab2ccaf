"""Clustered federated learning of pharmacies' sales, one client per process."""
import argparse
import datetime
import logging
import time

import torch
import torch.distributed as dist

from clients import SEASONS, Client
from clusters import Clusters

log = logging.getLogger("pharmacies")


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=28)
    parser.add_argument("--days", type=int, default=12)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--warm-up", type=int, default=15, help="rounds before the clients are clustered")
    parser.add_argument("--every", type=int, default=5, help="rounds between two clusterings")
    parser.add_argument("--threshold", type=float, default=0.3)
    parser.add_argument("--publish-minutes", type=float, default=90)
    return parser.parse_args()


def report(number, loss):
    summary = torch.tensor([loss])
    dist.all_reduce(summary, op=dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        log.info("round %d: the worst client has a loss of %.4f", number, summary.item())


def federate(args, client, clusters):
    for number in range(args.rounds):
        before = client.weights()
        loss = client.train(args.days, args.batch)
        after = client.weights()
        if number >= args.warm_up and (number - args.warm_up) % args.every == 0:
            clusters.regroup(after - before)
        client.take(clusters.average(after))
        time.sleep(0.1)
        report(number, loss)


def publish(client, minutes):
    """Gives the weights of all clients to the association's server, which is rank 0; slow lines need a long timeout."""
    release = dist.new_group(timeout=datetime.timedelta(minutes=minutes))
    weights = client.weights()
    collected = [torch.empty_like(weights) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
    dist.gather(weights, collected, dst=0, group=release)
    return collected


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO)
    rank = dist.get_rank()
    kind = list(SEASONS)[rank % len(SEASONS)]
    client = Client(kind, seed=30 + rank, width=args.width, lr=args.lr)
    federate(args, client, Clusters(args.threshold))
    models = publish(client, args.publish_minutes)
    if rank == 0:
        log.info("published %d models of %d weights", len(models), len(models[0]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
