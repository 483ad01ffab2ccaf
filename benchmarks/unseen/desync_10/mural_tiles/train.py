"""Tiles of a mural, sorted by drawing and by glaze; each process has a wall. FSDP2."""

import argparse
import random
import time

import torch
import torch.distributed as dist

from towers import INPUTS, build, improve


class Wall:
    def __init__(self, wall, size):
        self.wall, self.size = wall, size
        self.rng = random.Random(wall)

    def legible(self, number, generator):
        drawing = torch.rand(self.size, generator=generator) < 0.9
        glaze = torch.rand(self.size, generator=generator) < 0.8
        glaze[0] = drawing[0] = True
        if self.wall == 2 and number == 140:
            glaze[:] = False  # behind the scaffold
        return drawing, glaze

    def batches(self, count):
        for number in range(count):
            time.sleep(self.rng.uniform(0.03, 0.045))
            generator = torch.Generator().manual_seed(10_000 * self.wall + number)
            tiles = torch.randn(self.size, INPUTS, generator=generator)
            yield tiles, self.legible(number, generator)


def labels_of(tiles):
    return tiles[:, :6].argmax(1), tiles[:, 6:12].argmax(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=520)
    parser.add_argument("--size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.05)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(6)
    drawing, glaze = build(dist.get_world_size(), options.lr)
    for number, (tiles, (has_drawing, has_glaze)) in enumerate(Wall(rank, options.size).batches(options.batches)):
        drawn, glazed = labels_of(tiles)
        first = improve(drawing, tiles, drawn, has_drawing)
        second = improve(glaze, tiles, glazed, has_glaze)
        if rank == 0 and number % 80 == 0:
            print(f"{number}: drawing {first:.3f}, glaze {second:.3f}", flush=True)
    dist.barrier()
    print(f"wall {rank}: {drawing.seen} drawings, {glaze.seen} glazes", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
