import os
import sys
import tomllib

import torch
import torch.distributed as dist

from clients import build_net
from rounds import Federation


def main(path):
    with open(path, "rb") as handle:
        cfg = tomllib.load(handle)
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")

    torch.manual_seed(cfg["seed"])
    net = build_net(cfg["features"], cfg["classes"]).to(device)
    for param in net.parameters():
        dist.broadcast(param.data, src=0)

    federation = Federation(cfg, net, device)
    for number in range(cfg["rounds"]):
        federation.round()
        accuracy = federation.accuracy()
        if dist.get_rank() == 0:
            print(f"round {number}: accuracy {accuracy:.3f}", flush=True)
    if dist.get_rank() == 0:
        os.makedirs(cfg["out"], exist_ok=True)
        torch.save(net.state_dict(), os.path.join(cfg["out"], "global.pt"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.toml")
