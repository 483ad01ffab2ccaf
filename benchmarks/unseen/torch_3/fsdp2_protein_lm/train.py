import json
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import callbacks  # noqa: F401  (fills the registry)
from registry import BLOCKS, CALLBACKS, OPTIMIZERS, build

CONFIG = """
{"dim": 32, "vocab": 25, "steps": 50, "batch": 4, "length": 48,
 "blocks": [{"type": "gated_conv"}, {"type": "mlp"}, {"type": "gated_conv", "kernel": 7}, {"type": "mlp"}],
 "optimizer": {"type": "adamw", "lr": 0.002, "foreach": false},
 "callbacks": [{"type": "throughput", "every": 5}, {"type": "export", "every": 24, "folder": "%s"}]}
"""


class ProteinLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.Embedding(cfg["vocab"], cfg["dim"])
        self.blocks = nn.ModuleList(build(BLOCKS, spec, cfg["dim"]) for spec in cfg["blocks"])
        self.head = nn.Linear(cfg["dim"], cfg["vocab"])

    def forward(self, residues):
        x = self.emb(residues)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Engine:
    def __init__(self, cfg):
        self.cfg, self.rank, self.step, self.loss = cfg, dist.get_rank(), 0, float("nan")
        torch.manual_seed(21)
        mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("shard",))
        self.model = ProteinLM(cfg)
        for block in self.model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.optimizer = build(OPTIMIZERS, cfg["optimizer"], self.model.parameters())
        self.callbacks = [build(CALLBACKS, spec) for spec in cfg["callbacks"]]
        self.generator = torch.Generator().manual_seed(77 + self.rank)

    def masked_batch(self):
        shape = (self.cfg["batch"], self.cfg["length"])
        residues = torch.randint(1, self.cfg["vocab"], shape, generator=self.generator)
        mask = torch.rand(shape, generator=self.generator) < 0.2
        return residues.masked_fill(mask, 0), residues

    def run(self):
        while self.step < self.cfg["steps"]:
            inputs, target = self.masked_batch()
            loss = nn.functional.cross_entropy(self.model(inputs).flatten(0, 1), target.flatten())
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.loss = loss.item()
            self.step += 1
            for callback in self.callbacks:
                callback.on_step_end(self)
            time.sleep(0.02)


if __name__ == "__main__":
    text = open(sys.argv[1]).read() if len(sys.argv) > 1 else CONFIG % tempfile.gettempdir()
    dist.init_process_group("gloo")
    Engine(json.loads(text)).run()
    dist.destroy_process_group()
