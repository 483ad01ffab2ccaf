"""A collector that receives from whoever is ready; the producers need between two and nine seconds."""

import argparse
import random
import time

import torch
import torch.distributed as dist


def produce(rank: int, seconds: float) -> torch.Tensor:
    time.sleep(seconds * rank / dist.get_world_size())
    return torch.full((8,), float(rank))


def collect() -> dict[int, float]:
    """Take one result of every producer, in the order in which they come."""
    results: dict[int, float] = {}
    buffer = torch.zeros(8)
    for _ in range(dist.get_world_size() - 1):
        source = dist.recv(buffer)
        results[source] = buffer.mean().item()
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=13.0)
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.seconds = random.Random(args.seed).uniform(3.0, 6.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if rank == 0:
        results = collect()
        print({source: results[source] for source in sorted(results)}, flush=True)
    else:
        dist.send(produce(rank, args.seconds), dst=0)
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
