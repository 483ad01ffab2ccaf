import argparse
import glob
import logging
import os

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, Sampler

from depthlab import comm
from depthlab.config import get_cfg
from depthlab.engine import hooks
from depthlab.engine.train_loop import Trainer
from depthlab.modeling import DepthNet


class RGBD(Dataset):
    def __init__(self, cfg, part):
        self.files = sorted(glob.glob(os.path.join(cfg.DATASETS.ROOT, part, "*.npz")))
        self.crop, self.train = cfg.DATASETS.CROP, part == "train"

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with np.load(self.files[i]) as z:
            rgb, depth = torch.from_numpy(z["rgb"]), torch.from_numpy(z["depth"])
        h, w = self.crop
        top, left = (rgb.shape[0] - h) // 2, (rgb.shape[1] - w) // 2
        if self.train:
            top = int(torch.randint(0, rgb.shape[0] - h + 1, ()))
            left = int(torch.randint(0, rgb.shape[1] - w + 1, ()))
        rgb = rgb[top:top + h, left:left + w].permute(2, 0, 1).float() / 255
        return {"image": rgb, "depth": depth[top:top + h, left:left + w]}


class TrainingSampler(Sampler):
    """Infinite stream of shuffled indices, every worker takes each n-th one."""

    def __init__(self, size, seed):
        self.size, self.seed = size, seed

    def _infinite(self):
        g = torch.Generator().manual_seed(self.seed)
        while True:
            yield from torch.randperm(self.size, generator=g).tolist()

    def __iter__(self):
        rank, world = comm.get_rank(), comm.get_world_size()
        for n, idx in enumerate(self._infinite()):
            if n % world == rank:
                yield idx


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config-file", required=True)
    ap.add_argument("opts", nargs=argparse.REMAINDER)
    args = ap.parse_args()
    cfg = get_cfg()
    cfg.merge_from_file(args.config_file)
    cfg.merge_from_list(args.opts)
    cfg.freeze()

    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    logging.basicConfig(level=logging.INFO if comm.is_main_process() else logging.WARNING)
    os.makedirs(cfg.OUTPUT_DIR, exist_ok=True)
    torch.manual_seed(cfg.SEED + comm.get_rank())

    train_set, val_set = RGBD(cfg, "train"), RGBD(cfg, "val")
    loader_args = dict(batch_size=cfg.DATALOADER.IMS_PER_GPU, num_workers=cfg.DATALOADER.NUM_WORKERS)
    train_loader = DataLoader(train_set, sampler=TrainingSampler(len(train_set), cfg.SEED), **loader_args)
    share = range(comm.get_rank(), len(val_set), comm.get_world_size())
    val_loader = DataLoader(torch.utils.data.Subset(val_set, share), **loader_args)

    model = DistributedDataParallel(DepthNet(cfg).cuda(), device_ids=[gpu])
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.SOLVER.BASE_LR)
    trainer = Trainer(cfg, model, train_loader, optimizer)
    trainer.register_hooks([
        hooks.WarmupPoly(cfg.SOLVER.BASE_LR, cfg.SOLVER.WARMUP_ITERS),
        hooks.PeriodicCheckpointer(cfg.SOLVER.CHECKPOINT_PERIOD, cfg.OUTPUT_DIR),
        hooks.EvalHook(cfg.TEST.EVAL_PERIOD, val_loader),
        hooks.WalltimeHook(cfg.SOLVER.MAX_HOURS),
        hooks.PeriodicWriter(),
    ])
    trainer.train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
