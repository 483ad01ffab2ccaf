import argparse
import math
import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F

from llm import LLM
from ring import Ring

PAD = -100


def my_piece(tokens, ring, multiple=64):
    """Cut a book into equal pieces; the end is filled up with positions that do not count."""
    ids = torch.from_numpy(tokens.astype(np.int64))
    inputs, targets = ids[:-1], ids[1:]
    piece = math.ceil(len(inputs) / (ring.size * multiple)) * multiple
    fill = piece * ring.size - len(inputs)
    inputs, targets = F.pad(inputs, (0, fill)), F.pad(targets, (0, fill), value=PAD)
    here = slice(ring.rank * piece, (ring.rank + 1) * piece)
    return inputs[here].cuda()[None], targets[here].cuda()


def nll(model, hidden, targets, chunk=4096):
    total = torch.zeros(2, dtype=torch.float64, device="cuda")
    for h, t in zip(hidden[0].split(chunk), targets.split(chunk)):
        logits = model.head(h).float()
        total[0] += F.cross_entropy(logits, t, ignore_index=PAD, reduction="sum")
        total[1] += (t != PAD).sum()
    return total


@torch.inference_mode()
def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--weights", required=True, help="dict with 'config' and 'model'")
    ap.add_argument("--books", nargs="+", required=True)
    ap.add_argument("--max_tokens", type=int, default=None)
    args = ap.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    ring = Ring()

    saved = torch.load(args.weights, map_location="cpu", mmap=True)
    model = LLM(**saved["config"])
    model.load_state_dict(saved["model"])
    model.cuda().bfloat16().eval()

    overall = torch.zeros(2, dtype=torch.float64, device="cuda")
    for path in sorted(args.books):
        tokens = np.load(path, mmap_mode="r")[: args.max_tokens]
        inputs, targets = my_piece(tokens, ring)
        book = nll(model, model(inputs, ring), targets)
        dist.all_reduce(book)
        overall += book
        if ring.rank == 0:
            ppl = math.exp((book[0] / book[1]).item())
            print(f"{Path(path).stem:30s} {int(book[1].item()):9d} tokens  ppl {ppl:8.3f}", flush=True)

    if ring.rank == 0:
        print(f"all books: ppl {math.exp((overall[0] / overall[1]).item()):.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
