import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

from policy import PolicyLM
from trainer import PolicyTrainer


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--vocab_size", type=int, default=12)
    p.add_argument("--prompt_len", type=int, default=4)
    p.add_argument("--max_new_tokens", type=int, default=4)
    p.add_argument("--prompts_per_step", type=int, default=8)
    p.add_argument("--group_size", type=int, default=4)
    p.add_argument("--minibatches", type=int, default=2)
    p.add_argument("--temperature", type=float, default=1.0)
    p.add_argument("--kl_coef", type=float, default=0.02)
    p.add_argument("--max_grad_norm", type=float, default=1.0)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--iterations", type=int, default=20)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--output", default="policy.pt")
    return p.parse_args()


def main():
    cfg = parse_args()
    accelerator = Accelerator()
    set_seed(cfg.seed)
    prompts = torch.randint(0, cfg.vocab_size, (512, cfg.prompt_len))
    loader = DataLoader(TensorDataset(prompts), batch_size=cfg.prompts_per_step, shuffle=True, drop_last=True)
    model = PolicyLM(cfg.vocab_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    trainer = PolicyTrainer(cfg, accelerator, model, optimizer, loader)
    set_seed(cfg.seed, device_specific=True)

    for it in range(cfg.iterations):
        stats = trainer.step()
        if it % 5 == 0:
            accelerator.print(it, " ".join(f"{k} {v:.4f}" for k, v in stats.items()))
    trainer.save(cfg.output)
    accelerator.end_training()


if __name__ == "__main__":
    main()
