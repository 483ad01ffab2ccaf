import argparse
import ast
import runpy

import torch
import torch.distributed as dist

from runner import Runner


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("config")
    ap.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    args = ap.parse_args()
    cfg = {k: v for k, v in runpy.run_path(args.config).items() if not k.startswith("_")}
    for kv in args.set:
        key, val = kv.split("=", 1)
        node, *rest = key.split(".")
        if rest:
            cfg[node][rest[0]] = ast.literal_eval(val)
        else:
            cfg[node] = ast.literal_eval(val)

    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    Runner(cfg).train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
