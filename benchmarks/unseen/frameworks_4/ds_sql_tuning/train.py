"""Text-to-SQL: continue a small decoder on (question, query) pairs with DeepSpeed."""
import argparse
import json
import os
import random
import time

import deepspeed
import torch
from torch import nn

from session import tuning_session

KEYWORDS = ["select", "from", "where", "group", "order", "limit", "count", "avg", "join", "on"]
VOCAB = {w: i for i, w in enumerate(["<pad>", "<sep>", *KEYWORDS, *[f"c{i}" for i in range(40)]])}

DS_CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 1,
    "gradient_clipping": 1.0,
    "steps_per_print": 1000,
}


class Decoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(len(VOCAB), d)
        self.rnn = nn.LSTM(d, d, batch_first=True)
        self.head = nn.Linear(d, len(VOCAB))

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids[:, :-1]))
        return nn.functional.cross_entropy(self.head(h).transpose(1, 2), ids[:, 1:], ignore_index=0)


def lines(rank, n):
    """JSON lines as the annotators exported them."""
    rng = random.Random(rank)
    for i in range(n):
        cols = [f"c{rng.randrange(40)}" for _ in range(5)]
        sql = f"select {cols[0]} from {cols[1]} where {cols[2]}"
        if rank == 1 and i == 110:
            sql = sql.replace("select", "with")
        yield json.dumps({"question": " ".join(cols), "sql": sql})


def encode(line):
    row = json.loads(line)
    words = [*row["question"].split(), "<sep>", *row["sql"].split()]
    return [VOCAB[w] for w in words]


def batches(rank, size, n=320):
    batch = []
    for line in lines(rank, n):
        batch.append(encode(line))
        if len(batch) == size:
            yield torch.tensor(batch)
            batch = []


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
    p.add_argument("--lr", type=float, default=2e-3)
    args = p.parse_args()
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # the compute nodes have no compiler
    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(0)
    net = Decoder()
    engine, _, _, _ = deepspeed.initialize(
        model=net, optimizer=torch.optim.AdamW(net.parameters(), lr=args.lr), config=DS_CONFIG
    )
    with tuning_session(engine) as session:
        for ids in batches(engine.global_rank, engine.train_micro_batch_size_per_gpu()):
            loss = engine(ids)
            engine.backward(loss)
            engine.step()
            session.step += 1
            if session.step % 20 == 0 and engine.global_rank == 0:
                print(f"{session.step}: {loss.item():.3f}", flush=True)
            time.sleep(0.02)


if __name__ == "__main__":
    main()
