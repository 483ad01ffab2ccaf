"""A server answers each worker in turn; one worker leaves a gradient out that is too small to be worth it."""

import torch
import torch.distributed as dist

ROUNDS = 10


def serve(workers: range) -> None:
    for _ in range(ROUNDS):
        for worker in workers:
            gradient = torch.zeros(4)
            dist.recv(gradient, src=worker)
            dist.send(gradient / 2, dst=worker)


def work(rank: int) -> None:
    for step in range(ROUNDS):
        gradient = torch.full((4,), 0.0 if rank == 1 and step == 5 else 1.0)
        if gradient.norm() < 1e-6:
            continue
        dist.send(gradient, dst=0)
        dist.recv(gradient, src=0)


def main() -> None:
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        serve(range(1, dist.get_world_size()))
    else:
        work(dist.get_rank())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
