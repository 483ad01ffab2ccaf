import argparse
import json
import random

import deepspeed
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from model import Decoder
from surgery import load_base, seed_new_tokens, table_norms

BASE_VOCAB, NEW_TOKENS, CONTEXT = 16000, 512, 256


class Reports(Dataset):
    def __init__(self, count, seed):
        gen = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(BASE_VOCAB + NEW_TOKENS, (count, CONTEXT), generator=gen)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.ids[i]


def domain_pieces(seed):
    """New token -> ids of its former pieces (stands in for the merged tokenizer's table)."""
    rng = random.Random(seed)
    return {BASE_VOCAB + k: rng.sample(range(BASE_VOCAB), rng.randint(2, 5)) for k in range(NEW_TOKENS)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--base", default=None, help="state dict of the base model")
    parser.add_argument("--ds-config", default="ds_config.json")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--out", default="runs/domain")
    args = parser.parse_args()

    deepspeed.init_distributed()
    with open(args.ds_config) as handle:
        config = json.load(handle)
    torch.manual_seed(args.seed)
    with deepspeed.zero.Init(config_dict_or_path=config):
        model = Decoder(BASE_VOCAB + NEW_TOKENS, context=CONTEXT)
    if args.base:
        load_base(model, args.base, BASE_VOCAB)
    seed_new_tokens(model, domain_pieces(args.seed))

    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    norms = table_norms(engine.module)
    if dist.get_rank() == 0:
        print(f"mean row norm of the embedding: {norms:.3f}")

    data = Reports(args.rows, args.seed)
    sampler = DistributedSampler(data, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(
        data, batch_size=engine.train_micro_batch_size_per_gpu(), sampler=sampler, drop_last=True, num_workers=2
    )
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(2, device=engine.device)
        for ids in loader:
            loss = engine(ids.to(engine.device, non_blocking=True))
            engine.backward(loss)
            engine.step()
            total += torch.stack([loss.detach().float(), torch.ones_like(loss, dtype=torch.float)])
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {(total[0] / total[1]).item():.4f}")
        engine.save_checkpoint(args.out, tag=f"epoch{epoch}")


if __name__ == "__main__":
    main()
