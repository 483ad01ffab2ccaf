import os

import numpy as np
import torch


@torch.no_grad()
def embed(model, ids, batch, device):
    out = []
    for start in range(0, len(ids), batch):
        x = torch.from_numpy(np.asarray(ids[start:start + batch], dtype=np.int64)).to(device)
        out.append(model.encode(x).cpu())
    return torch.cat(out)


@torch.no_grad()
def mine_negatives(model, corpus, queries, positives, cfg, device, path):
    """Writes one hard negative (a row of the corpus) per query to `path`."""
    model.eval()
    passages = embed(model, corpus, cfg["encode_batch"], device).to(device)
    q = embed(model, queries, cfg["encode_batch"], device)
    gen = torch.Generator().manual_seed(0)
    negatives = []
    for start in range(0, len(q), 256):
        chunk = q[start:start + 256].to(device)
        scores = chunk @ passages.T
        gold = torch.from_numpy(np.asarray(positives[start:start + 256], dtype=np.int64)).to(device)
        scores.scatter_(1, gold[:, None], -2.0)
        top = scores.topk(cfg["top_k"], dim=1).indices.cpu()
        pick = torch.randint(cfg["skip_top"], cfg["top_k"], (len(top), 1), generator=gen)
        negatives.append(top.gather(1, pick).squeeze(1))
    tmp = path + ".tmp.npy"
    np.save(tmp, torch.cat(negatives).numpy())
    os.replace(tmp, path)
    model.train()
