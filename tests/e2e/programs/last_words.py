"""A rank that exits as requested: `kill` once a group exists, or `raise-again` in a job that restarts."""

import argparse
import os
import signal
import time

import torch
import torch.distributed as dist


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=["kill", "raise-again"])
    parser.add_argument("--culprit", type=int, default=0)
    args = parser.parse_args()
    guilty = int(os.environ["RANK"]) == args.culprit
    if args.how == "raise-again" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        # Nobody joins a group in the first attempt: gloo of torch 2.13 may read an address that it left in the store.
        if guilty:
            raise ValueError("first")
        time.sleep(60)
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    if guilty:
        if args.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise KeyError("second")
    time.sleep(60)


if __name__ == "__main__":
    main()
