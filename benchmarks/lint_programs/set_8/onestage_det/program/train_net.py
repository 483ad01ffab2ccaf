import argparse
import json
import os

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler

from det import comm
from det.data import Tiles, collate
from det.modeling import build_model


class TrainingSampler(Sampler):
    """Infinite stream of shuffled indices, every worker takes each world-size-th one."""

    def __init__(self, size, seed):
        self.size, self.seed = size, seed

    def __iter__(self):
        rank, world = comm.get_rank(), comm.get_world_size()
        g = torch.Generator().manual_seed(self.seed)
        pos = 0
        while True:
            for i in torch.randperm(self.size, generator=g).tolist():
                if pos % world == rank:
                    yield i
                pos += 1


class SimpleTrainer:
    def __init__(self, cfg):
        self.cfg = cfg
        solver = cfg["SOLVER"]
        self.device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else "cpu"
        data = Tiles(classes=cfg["MODEL"]["NUM_CLASSES"])
        assert solver["IMS_PER_BATCH"] % comm.get_world_size() == 0
        self.loader = iter(DataLoader(data, solver["IMS_PER_BATCH"] // comm.get_world_size(),
                                      sampler=TrainingSampler(len(data), cfg["SEED"]), collate_fn=collate))
        self.model = build_model(cfg["MODEL"]).to(self.device)
        if comm.get_world_size() > 1:
            ids = [self.device.index] if torch.cuda.is_available() else None
            self.model = DistributedDataParallel(self.model, device_ids=ids)
        self.optimizer = torch.optim.SGD(self.model.parameters(), solver["BASE_LR"], momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda i: min(1.0, (i + 1) / solver["WARMUP"]))

    def run_step(self):
        imgs, boxes, labels = next(self.loader)
        losses = self.model(imgs.to(self.device), [b.to(self.device) for b in boxes],
                            [l.to(self.device) for l in labels])
        self.optimizer.zero_grad()
        sum(losses.values()).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        self.scheduler.step()
        return losses

    def train(self):
        for it in range(self.cfg["SOLVER"]["MAX_ITER"]):
            losses = self.run_step()
            if (it + 1) % self.cfg["LOG_PERIOD"] == 0:
                shown = comm.reduce_dict(losses)
                if comm.get_rank() == 0:
                    print(f"iter: {it + 1}  " + "  ".join(f"{k}: {v:.3f}" for k, v in shown.items()), flush=True)
        if comm.get_rank() == 0:
            os.makedirs(self.cfg["OUTPUT_DIR"], exist_ok=True)
            net = self.model.module if comm.get_world_size() > 1 else self.model
            torch.save(net.state_dict(), os.path.join(self.cfg["OUTPUT_DIR"], "model_final.pth"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config-file", default="configs.json")
    args = parser.parse_args()
    with open(args.config_file) as f:
        cfg = json.load(f)
    comm.launch()
    torch.manual_seed(cfg["SEED"])
    SimpleTrainer(cfg).train()
    comm.shutdown()


if __name__ == "__main__":
    main()
