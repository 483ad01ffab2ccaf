"""Next-word prediction on a stream of news articles, sharded by publisher."""
import itertools
import logging
import math
import random

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

VOCAB, CONTEXT = 120, 20
logger = logging.getLogger(__name__)


class ArticleStream(IterableDataset):
    """Fixed-length windows of the articles of one shard; stubs are dropped."""

    def __init__(self, shard, articles=120, min_words=CONTEXT + 1):
        super().__init__()
        self.shard, self.articles, self.min_words = shard, articles, min_words

    def _read(self):
        rng = random.Random(self.shard)
        for n in range(self.articles):
            # the second publisher's feed has sports tickers in between
            words = 9 if self.shard == 1 and n % 20 == 13 else rng.randint(24, 40)
            yield [rng.randrange(VOCAB) for _ in range(words)]

    def __iter__(self):
        info = get_worker_info()
        start, stride = (info.id, info.num_workers) if info else (0, 1)
        for words in itertools.islice(self._read(), start, None, stride):
            if len(words) < self.min_words:
                continue
            yield torch.tensor(words[:self.min_words])


class WordModel(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.ln = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.out(self.ln(self.lstm(self.emb(ids))[0]))


def learning_rate(step, base=5e-3, warmup=10):
    return base * min(1.0, (step + 1) / warmup)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(42)

    loader = DataLoader(ArticleStream(rank), batch_size=4, num_workers=1)
    model = DistributedDataParallel(WordModel())
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    step = 0
    for epoch in range(3):
        nll = torch.zeros(2, dtype=torch.float64)
        for ids in loader:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step)
            logits = model(ids[:, :-1])
            loss = nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            nll += torch.tensor([loss.item() * ids[:, 1:].numel(), ids[:, 1:].numel()])
            step += 1
            if rank == 0 and step % 10 == 0:
                logger.info("step %d loss %.3f", step, loss.item())
        gathered = [torch.zeros_like(nll) for _ in range(world)]
        dist.all_gather(gathered, nll)
        total = sum(gathered)
        if rank == 0:
            logger.info("epoch %d perplexity %.1f", epoch, math.exp(total[0] / total[1]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
