import argparse
import logging
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

from asr_data import ALPHABET, ManifestDataset, collate


class CTCModel(nn.Module):
    def __init__(self, n_mels=80, hidden=512, layers=4):
        super().__init__()
        self.sub = nn.Sequential(
            nn.Conv1d(n_mels, hidden, 5, stride=2, padding=2), nn.GELU(),
            nn.Conv1d(hidden, hidden, 5, stride=2, padding=2), nn.GELU(),
        )
        self.rnn = nn.LSTM(hidden, hidden // 2, layers, batch_first=True, bidirectional=True, dropout=0.1)
        self.proj = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, len(ALPHABET)))

    @staticmethod
    def out_lengths(n):
        for _ in range(2):
            n = torch.div(n - 1, 2, rounding_mode="floor") + 1
        return n

    def forward(self, feats, feat_len):
        h = self.sub(feats.transpose(1, 2)).transpose(1, 2)
        h, _ = self.rnn(h)
        return self.proj(h).log_softmax(-1), self.out_lengths(feat_len)


class Recipe:
    def __init__(self, hp):
        self.hp = hp
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()
        self.gpu = int(os.environ["LOCAL_RANK"])
        self.device = torch.device("cuda", self.gpu)
        self.log = logging.getLogger("asr")

        train = ManifestDataset(hp.train_tsv)
        dev = ManifestDataset(hp.dev_tsv)
        dev = Subset(dev, range(self.rank, len(dev), self.world_size))
        self.sampler = DistributedSampler(train, shuffle=True, seed=hp.seed)
        opts = dict(collate_fn=collate, num_workers=hp.workers, pin_memory=True)
        self.train_dl = DataLoader(train, hp.batch, sampler=self.sampler, drop_last=True, **opts)
        self.dev_dl = DataLoader(dev, hp.batch, **opts)

        self.net = CTCModel().to(self.device)
        self.ddp = DDP(self.net, device_ids=[self.gpu])
        self.optim = torch.optim.AdamW(self.ddp.parameters(), lr=hp.lr, weight_decay=1e-3)
        self.ctc = nn.CTCLoss(blank=0, reduction="mean")
        self.skipped = 0
        self.epoch = 0

    def _loss(self, model, batch):
        feats, feat_len, text, text_len = (t.to(self.device, non_blocking=True) for t in batch)
        logp, out_len = model(feats, feat_len)
        return self.ctc(logp.transpose(0, 1), text, out_len, text_len)

    def _unusable(self, loss):
        # transcripts longer than the subsampled audio give inf
        return not bool(torch.isfinite(loss.detach()))

    def train_epoch(self):
        self.sampler.set_epoch(self.epoch)
        self.ddp.train()
        for i, batch in enumerate(self.train_dl):
            self.optim.zero_grad(set_to_none=True)
            loss = self._loss(self.ddp, batch)
            if self._unusable(loss):
                self.skipped += 1
                continue
            loss.backward()
            nn.utils.clip_grad_norm_(self.ddp.parameters(), self.hp.clip)
            self.optim.step()
            if i % self.hp.log_every == 0:
                self.log.info("epoch %d batch %d/%d loss on rank 0 %.3f, skipped so far %d",
                              self.epoch, i, len(self.train_dl), loss.item(), self.skipped)

    @torch.no_grad()
    def dev_loss(self):
        self.net.eval()
        acc = torch.zeros(2, device=self.device)
        for batch in self.dev_dl:
            loss = self._loss(self.net, batch)
            if torch.isfinite(loss):
                n = batch[1].numel()
                acc += torch.stack([loss * n, loss.new_tensor(float(n))])
        dist.all_reduce(acc)
        return (acc[0] / acc[1]).item()

    def checkpoint(self, name):
        if self.rank == 0:
            torch.save({"net": self.net.state_dict(), "optim": self.optim.state_dict(), "epoch": self.epoch},
                       os.path.join(self.hp.out, name))

    def run(self):
        best = float("inf")
        while self.epoch < self.hp.epochs:
            self.train_epoch()
            loss = self.dev_loss()
            self.log.info("epoch %d dev loss %.4f", self.epoch, loss)
            self.checkpoint("last.ckpt")
            if loss < best:
                best = loss
                self.checkpoint("best.ckpt")
            self.epoch += 1


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("train_tsv")
    p.add_argument("dev_tsv")
    p.add_argument("out")
    p.add_argument("--batch", type=int, default=24, help="utterances per GPU")
    p.add_argument("--epochs", type=int, default=50)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--seed", type=int, default=1234)
    p.add_argument("--workers", type=int, default=6)
    p.add_argument("--log-every", type=int, default=100)
    hp = p.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s",
                        level=logging.INFO if dist.get_rank() == 0 else logging.ERROR)
    os.makedirs(hp.out, exist_ok=True)
    Recipe(hp).run()
    dist.destroy_process_group()
