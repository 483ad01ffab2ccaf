"""Usage: torchrun --nproc_per_node N train.py [config.yaml] [key=value ...]"""
import sys
from types import SimpleNamespace

import torch
import torch.nn.functional as F
import yaml

import dist_utils as du
from model import MoELM


def load_config(argv):
    path = argv[0] if argv and "=" not in argv[0] else "config.yaml"
    with open(path) as f:
        cfg = yaml.safe_load(f)
    for item in (a for a in argv if "=" in a):
        k, v = item.split("=", 1)
        cfg[k] = type(cfg[k])(v)
    return SimpleNamespace(**cfg)


class Corpus:
    """Markov text; each worker draws from its own stream."""

    def __init__(self, cfg, rank):
        base = torch.Generator().manual_seed(cfg.seed)
        self.table = (3 * torch.randn(cfg.vocab, cfg.vocab, generator=base)).softmax(-1)
        self.gen = torch.Generator().manual_seed(cfg.seed * 7919 + rank)
        self.cfg = cfg

    def batch(self):
        c = self.cfg
        ids = torch.zeros(c.batch_size, c.seq_len + 1, dtype=torch.long)
        ids[:, 0] = torch.randint(c.vocab, (c.batch_size,), generator=self.gen)
        for t in range(c.seq_len):
            ids[:, t + 1] = torch.multinomial(self.table[ids[:, t]], 1, generator=self.gen)[:, 0]
        return ids[:, :-1], ids[:, 1:]


def main():
    cfg = load_config(sys.argv[1:])
    rank, world = du.setup()
    torch.manual_seed(cfg.seed)
    model = MoELM(cfg.vocab, num_experts=cfg.num_experts)
    du.sync_params(model)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=0.01)
    corpus = Corpus(cfg, rank)

    for step in range(cfg.steps):
        x, y = corpus.batch()
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        total = loss + cfg.aux_weight * model.moe.aux_loss
        opt.zero_grad()
        total.backward()
        du.average_gradients(model)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()

        load = du.gather_rows(model.moe.last_load)
        if rank == 0 and step % cfg.log_every == 0:
            pct = " ".join(f"{100 * v:3.0f}" for v in load.mean(0).tolist())
            print(f"step {step} loss {loss.item():.3f} load% {pct}", flush=True)

    if rank == 0:
        print("finished", world, "workers", flush=True)
    du.cleanup()


if __name__ == "__main__":
    main()
