import argparse
import pathlib

import torch
import torch.distributed as td
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

from mc import dist
from mc.streaming import HeldOut, TokenShards
from mc.trainer import Callback, SpeedMonitor, Trainer


class LogitsOnly(torch.nn.Module):
    def __init__(self, lm):
        super().__init__()
        self.lm = lm

    def forward(self, ids):
        return self.lm(input_ids=ids).logits


class KeepBest(Callback):
    def __init__(self, folder):
        self.folder, self.best = pathlib.Path(folder), float("inf")

    def eval_end(self, state):
        if dist.get_rank() != 0:
            return
        print("eval", state.metrics)
        if state.metrics["eval_loss"] < self.best:
            self.best = state.metrics["eval_loss"]
            self.folder.mkdir(parents=True, exist_ok=True)
            torch.save({"model": state.model.module.state_dict(), "tokens": state.tokens}, self.folder / "best.pt")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--shards", required=True)
    ap.add_argument("--eval-tokens", required=True)
    ap.add_argument("--budget", type=float, default=1e9)
    ap.add_argument("--device-batch", type=int, default=16)
    ap.add_argument("--seq", type=int, default=1024)
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--lr", type=float, default=6e-4)
    ap.add_argument("--save", default="runs/lm")
    a = ap.parse_args()

    device = dist.initialize()
    torch.manual_seed(17)
    config = GPT2Config(n_positions=a.seq, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model = LogitsOnly(GPT2LMHeadModel(config)).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, betas=(0.9, 0.95), weight_decay=0.1)

    train = DataLoader(TokenShards(a.shards, a.seq), a.device_batch, num_workers=a.workers, pin_memory=True)
    held = DataLoader(HeldOut(a.eval_tokens, a.seq), a.device_batch)
    Trainer(model, opt, train, held, budget=a.budget, device=device,
            callbacks=[SpeedMonitor(), KeepBest(a.save)]).fit()
    td.destroy_process_group()


if __name__ == "__main__":
    main()
