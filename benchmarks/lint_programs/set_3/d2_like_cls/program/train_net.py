import ast
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Sampler, Subset, TensorDataset

from checkpoint import Checkpointer
from engine import BestCheckpointer, EvalHook, PeriodicCheckpointer, Trainer
from evaluation import ClsEvaluator, inference_on_dataset

CFG = dict(MAX_ITER=2000, EVAL_PERIOD=200, CHECKPOINT_PERIOD=500, BATCH=32, LR=1e-3, CLASSES=6, NUM_TRAIN=6000,
           NUM_TEST=600, SEED=3, OUTPUT_DIR="output")


class TrainingSampler(Sampler):
    """Endless, same permutation on all ranks, strided."""

    def __init__(self, size, seed):
        self.size, self.seed = size, seed

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed)
        rank, world, pos = dist.get_rank(), dist.get_world_size(), 0
        while True:
            for i in torch.randperm(self.size, generator=g).tolist():
                if pos % world == rank:
                    yield i
                pos += 1


def parts(n, classes, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=g)
    proto = torch.randn(classes, 32, generator=torch.Generator().manual_seed(0))
    return TensorDataset(proto[y] + 1.5 * torch.randn(n, 32, generator=g), y)


def main():
    cfg = dict(CFG)
    opts = sys.argv[1:]
    for k, v in zip(opts[::2], opts[1::2]):
        cfg[k] = type(CFG[k])(ast.literal_eval(v)) if not isinstance(CFG[k], str) else v

    dist.init_process_group("gloo")
    torch.manual_seed(cfg["SEED"])
    net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, cfg["CLASSES"]))
    model = DDP(net)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=cfg["LR"])

    train = parts(cfg["NUM_TRAIN"], cfg["CLASSES"], 1)
    test = parts(cfg["NUM_TEST"], cfg["CLASSES"], 2)
    test = Subset(test, range(dist.get_rank(), len(test), dist.get_world_size()))
    loader = DataLoader(train, cfg["BATCH"], sampler=TrainingSampler(len(train), cfg["SEED"]))
    test_loader = DataLoader(test, cfg["BATCH"])

    trainer = Trainer(model, optimizer, loader, nn.CrossEntropyLoss())
    ckpt = Checkpointer(net, optimizer, cfg["OUTPUT_DIR"])
    evaluator = ClsEvaluator(cfg["CLASSES"])
    trainer.hooks = [
        PeriodicCheckpointer(ckpt, cfg["CHECKPOINT_PERIOD"]),
        EvalHook(cfg["EVAL_PERIOD"], lambda: inference_on_dataset(net, test_loader, evaluator)),
        BestCheckpointer(cfg["EVAL_PERIOD"], ckpt, "eval/mean_class_acc"),
    ]
    trainer.train(cfg["MAX_ITER"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
