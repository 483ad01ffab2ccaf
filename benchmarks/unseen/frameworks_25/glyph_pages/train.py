"""A model of the next glyph, trained on three scribes' books with DeepSpeed (ZeRO-2)."""

import argparse
import os
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch

from engine import make_engine, optimize
from pages import Book, pack

LARGE = {0: (), 1: (), 2: (1042,)}


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=1600)
    parser.add_argument("--per-batch", type=int, default=8)
    parser.add_argument("--budget", type=int, default=480, help="glyphs in a piece, padding included")
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--report", type=int, default=40)
    return parser.parse_args()


def main():
    args = parse()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    deepspeed.init_distributed("gloo")
    rank = deepspeed.comm.get_rank()
    engine = make_engine(args)
    book = Book(scribe=rank, pages=args.pages, per_batch=args.per_batch, large=LARGE[rank])
    started = time.monotonic()
    for step, pages in enumerate(book, start=1):
        loss = optimize(engine, pack(pages, args.budget))
        time.sleep(0.02)  # the next pages are unfolded
        if rank == 0 and step % args.report == 0:
            print(f"step {step}: {loss:.3f} after {time.monotonic() - started:.1f} s", flush=True)
    deepspeed.comm.barrier()
    if rank == 0:
        print("all books are read")
    deepspeed.comm.destroy_process_group()


if __name__ == "__main__":
    main()
