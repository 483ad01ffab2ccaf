import argparse
import datetime
import os
import socket

import torch
import torch.multiprocessing as mp

from polyps.worker import run


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--runs", default="runs")
    parser.add_argument("--epochs", type=int, default=80)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--width", type=int, default=24)
    args = parser.parse_args()

    stamp = datetime.datetime.now().strftime("%m%d-%H%M%S")
    args.run_dir = os.path.join(args.runs, stamp)
    os.makedirs(args.run_dir)

    args.world_size = torch.cuda.device_count()
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(free_port())
    mp.spawn(run, args=(args,), nprocs=args.world_size, join=True)
