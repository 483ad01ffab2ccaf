import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from data import N_MELS, N_TOKENS, FrameBudgetSampler, SyntheticSpeech, collate


class Recognizer(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.conv = nn.Conv1d(N_MELS, dim, 3, padding=1)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * dim, N_TOKENS + 1)

    def forward(self, feats):
        h = self.conv(feats.transpose(1, 2)).relu().transpose(1, 2)
        h, _ = self.rnn(h)
        return self.head(h).log_softmax(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--utterances", type=int, default=250)
    ap.add_argument("--max-frames", type=int, default=400)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--out", default="ctc.pt")
    args = ap.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    torch.manual_seed(0)

    ds = SyntheticSpeech(args.utterances)
    sampler = FrameBudgetSampler(ds.frames, args.max_frames, rank, world)
    loader = DataLoader(ds, batch_sampler=sampler, collate_fn=collate)
    model = DDP(Recognizer().to(device), device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    ctc = nn.CTCLoss(blank=0, reduction="sum", zero_infinity=True)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        totals = torch.zeros(2, device=device)
        for feats, feat_len, tokens, tok_len in loader:
            log_probs = model(feats.to(device)).transpose(0, 1)
            loss_sum = ctc(log_probs, tokens.to(device), feat_len, tok_len)
            # batches differ in size: normalise by the utterances of all ranks
            count = torch.tensor(float(len(feat_len)), device=device)
            dist.all_reduce(count)
            optimizer.zero_grad()
            (loss_sum * world / count).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            totals[0] += loss_sum.detach()
            totals[1] += len(feat_len)
        dist.all_reduce(totals)
        if rank == 0:
            print(f"epoch {epoch} ctc {totals[0] / totals[1]:.3f} "
                  f"utterances {int(totals[1])}", flush=True)

    if rank == 0:
        torch.save(model.module.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
