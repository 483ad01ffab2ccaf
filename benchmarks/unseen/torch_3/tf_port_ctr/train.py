"""Wide & Deep click model, converted from the TF1 estimator code (FLAGS and all)."""
import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from summary import FileWriterCache

parser = argparse.ArgumentParser()
parser.add_argument("--model_dir", default="/tmp/wide_deep")
parser.add_argument("--train_steps", type=int, default=120)
parser.add_argument("--save_summary_steps", type=int, default=5)
parser.add_argument("--batch_size", type=int, default=16)
# the parameter chief is busy with checkpoints, so that summaries are written by a worker
parser.add_argument("--summary_task", type=int, default=1)
FLAGS = parser.parse_args()

TASK_INDEX = int(os.environ["RANK"])
NUM_WORKERS = int(os.environ["WORLD_SIZE"])


class WideDeep(nn.Module):
    def __init__(self, hash_bucket_size=300, embedding_dim=8):
        super().__init__()
        self.wide = nn.EmbeddingBag(hash_bucket_size, 1, mode="sum")
        self.embedding = nn.Embedding(hash_bucket_size, embedding_dim)
        self.deep = nn.Sequential(nn.Linear(5 * embedding_dim, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, features):
        deep = self.deep(self.embedding(features).flatten(1))
        return (self.wide(features) + deep).squeeze(1)


def input_fn():
    generator = torch.Generator().manual_seed(31 + TASK_INDEX)
    while True:
        features = torch.randint(0, 300, (FLAGS.batch_size, 5), generator=generator)
        yield features, (features.sum(1) % 3 == 0).float()


def apply_gradients(variables, learning_rate):
    """SyncReplicasOptimizer: mean of the gradients of all workers, then plain descent."""
    for variable in variables:
        dist.all_reduce(variable.grad)
        with torch.no_grad():
            variable -= learning_rate / NUM_WORKERS * variable.grad
        variable.grad = None


class SummarySaverHook:
    def __init__(self, save_steps):
        self.save_steps = save_steps
        self.active = TASK_INDEX == FLAGS.summary_task

    def after_run(self, global_step, run_values):
        if self.active and global_step % self.save_steps == 0:
            writer = FileWriterCache.get(FLAGS.model_dir)
            writer.add_scalar("loss", run_values["loss"], global_step)


def train_and_evaluate():
    torch.manual_seed(0)
    model = WideDeep()
    hooks = [SummarySaverHook(FLAGS.save_summary_steps)]
    for global_step, (features, labels) in enumerate(input_fn()):
        if global_step == FLAGS.train_steps:
            break
        loss = F.binary_cross_entropy_with_logits(model(features), labels)
        loss.backward()
        apply_gradients(list(model.parameters()), 0.05)
        for hook in hooks:
            hook.after_run(global_step, {"loss": loss.item()})
        time.sleep(0.02)


if __name__ == "__main__":
    dist.init_process_group(backend="gloo")
    train_and_evaluate()
    dist.barrier()
    if TASK_INDEX == FLAGS.summary_task:
        FileWriterCache.get(FLAGS.model_dir).close()
    dist.destroy_process_group()
