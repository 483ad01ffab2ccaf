import argparse
import logging
import os

import torch
import torch.distributed as dist
import yaml
from torch.utils.data import DataLoader

from asr.dataset import Manifest, collate
from asr.executor import Executor
from asr.model import CTCModel
from asr.sampler import FrameBatchSampler


def get_args():
    parser = argparse.ArgumentParser(description="training your network")
    parser.add_argument("--config", required=True)
    parser.add_argument("--train_data", required=True)
    parser.add_argument("--cv_data", required=True)
    parser.add_argument("--model_dir", required=True)
    parser.add_argument("--checkpoint", help="checkpoint model")
    return parser.parse_args()


def make_loader(tsv, conf, rank, world_size, train):
    data = Manifest(tsv, conf["max_frames"])
    sampler = FrameBatchSampler(data.lengths, conf["batch_frames"], conf["bucket_width"],
                                rank, world_size, conf["seed"], shuffle=train)
    loader = DataLoader(data, batch_sampler=sampler, collate_fn=collate,
                        num_workers=conf["num_workers"], pin_memory=True)
    return loader, sampler


def main():
    args = get_args()
    with open(args.config) as f:
        conf = yaml.safe_load(f)

    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    local_rank = int(os.environ["LOCAL_RANK"])
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format="%(asctime)s %(levelname)s %(message)s")
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    device = torch.device("cuda", local_rank)
    torch.manual_seed(conf["dataset_conf"]["seed"] + rank)

    train_loader, train_sampler = make_loader(args.train_data, conf["dataset_conf"], rank, world_size, True)
    cv_loader, _ = make_loader(args.cv_data, conf["dataset_conf"], rank, world_size, False)

    model = CTCModel(conf["input_dim"], conf["vocab_size"], conf["hidden"], conf["layers"])
    start_epoch = 0
    if args.checkpoint:
        state = torch.load(args.checkpoint, map_location="cpu")
        model.load_state_dict(state["model"])
        start_epoch = state["epoch"] + 1
    model = torch.nn.parallel.DistributedDataParallel(model.to(device), device_ids=[local_rank])

    optimizer = torch.optim.Adam(model.parameters(), lr=conf["optim_conf"]["lr"])
    warmup = conf["optim_conf"]["warmup_steps"]
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warmup, (warmup / (s + 1)) ** 0.5))

    executor = Executor(device, conf)
    for epoch in range(start_epoch, conf["max_epoch"]):
        train_sampler.set_epoch(epoch)
        executor.train(model, optimizer, scheduler, train_loader, epoch)
        cv_loss = executor.cv(model, cv_loader)
        logging.info("CV epoch %d cv_loss %.4f", epoch, cv_loss)
        if rank == 0:
            torch.save({"model": model.module.state_dict(), "epoch": epoch, "cv_loss": cv_loss},
                       os.path.join(args.model_dir, f"{epoch}.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
