import argparse
import os

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

from .data import ReverseCorpus, TokenBatches, pad
from .model import Seq2Seq
from .trainer import Trainer


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--sentences", type=int, default=20_000)
    ap.add_argument("--vocab", type=int, default=100)
    ap.add_argument("--max-tokens", type=int, default=4096)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--lr", type=float, default=7e-4)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(args.seed)
    model = Seq2Seq(args.vocab)
    torch.manual_seed(args.seed + 1 + dist.get_rank())  # dropout

    data = ReverseCorpus(args.sentences, args.vocab, args.seed)
    sampler = TokenBatches(data, args.max_tokens, dist.get_rank(), dist.get_world_size(), args.seed)
    loader = DataLoader(data, batch_sampler=sampler, collate_fn=pad)
    Trainer(model, loader, sampler, device, args.lr).fit(args.epochs)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
