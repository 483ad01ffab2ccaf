import argparse
import os
import tomllib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from data import token_stream
from metrics import JsonlLogger
from model import Decoder, weight_norm


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="config.toml")
    ap.add_argument("--log", default="metrics.jsonl")
    ap.add_argument("--out", default="decoder.pt")
    args = ap.parse_args()
    with open(args.config, "rb") as f:
        cfg = tomllib.load(f)
    m, t = cfg["model"], cfg["train"]

    kind = "cuda" if torch.cuda.is_available() else "cpu"
    local_rank = int(os.environ["LOCAL_RANK"])
    if kind == "cuda":
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if kind == "cuda" else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device(kind, local_rank) if kind == "cuda" else torch.device("cpu")
    mesh = init_device_mesh(kind, (world,))

    torch.manual_seed(t["seed"])  # the same weights on every rank before sharding
    model = Decoder(m["vocab"], m["dim"], m["heads"], m["layers"], m["seq"]).to(device)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=t["lr"])
    logger = JsonlLogger(args.log, rank, t["log_every"])
    batches = token_stream(m["vocab"], m["seq"], t["batch_size"], t["seed"], rank)

    for step in range(1, t["steps"] + 1):
        x, y = (z.to(device) for z in next(batches))
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        grad_norm = nn.utils.clip_grad_norm_(model.parameters(), t["clip"])
        optimizer.step()
        mean_loss = loss.detach().clone()
        dist.all_reduce(mean_loss)
        logger.log(step, loss=mean_loss / world, grad_norm=grad_norm.full_tensor(),
                   weight_norm=lambda: weight_norm(model))

    weights = get_model_state_dict(
        model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        torch.save(weights, args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
