import os
import sys
import tomllib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from data import build_loader
from model import BiEncoder, contrast


@torch.no_grad()
def evaluate(model, loader, device):
    """How often the passage beats the question's own negatives and the batch."""
    model.eval()
    tally = torch.zeros(2, device=device)
    for questions, passages, negatives in loader:
        q, d = model.module(questions.to(device), torch.cat([passages, negatives]).to(device))
        best = (q @ d.T).argmax(dim=1)
        hits = (best == torch.arange(q.size(0), device=device)).sum()
        tally += torch.tensor([hits.item(), q.size(0)], device=device)
    dist.all_reduce(tally)
    return (tally[0] / tally[1]).item()


def main(path):
    with open(path, "rb") as handle:
        cfg = tomllib.load(handle)
    local = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    torch.manual_seed(cfg["seed"])

    net = BiEncoder(cfg["vocab"], cfg["width"]).to(device)
    model = DistributedDataParallel(net, device_ids=[local] if cuda else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    train_loader = build_loader(cfg, cfg["seed"], shuffle=True)
    val_loader = build_loader({**cfg, "questions": 64}, cfg["seed"] + 1, shuffle=False)

    for epoch in range(cfg["epochs"]):
        train_loader.sampler.set_epoch(epoch)
        model.train()
        for questions, passages, negatives in train_loader:
            q, d = model(questions.to(device), torch.cat([passages, negatives]).to(device))
            loss = contrast(q, d, cfg["temperature"])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        score = evaluate(model, val_loader, device)
        if rank == 0:
            print(f"epoch {epoch}: accuracy {score:.3f}", flush=True)
            os.makedirs(cfg["out"], exist_ok=True)
            torch.save(model.module.state_dict(), os.path.join(cfg["out"], "last.pt"))
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.toml")
