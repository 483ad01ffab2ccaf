"""Host copies of the local shards of a model and its optimizer, and the way back."""
import torch
from torch.distributed.tensor import DTensor


def _host(x):
    if isinstance(x, DTensor):
        x = x.to_local()
    if isinstance(x, torch.Tensor):
        return x.detach().to("cpu", copy=True)
    if isinstance(x, dict):
        return {k: _host(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(_host(v) for v in x)
    return x


def snapshot(model, optimizer, scheduler, epoch, step):
    return {
        "model": _host(model.state_dict()),
        "optimizer": _host(optimizer.state_dict()),
        "scheduler": scheduler.state_dict(),
        "epoch": epoch,
        "step": step,
    }


@torch.no_grad()
def restore(saved, model, optimizer, scheduler):
    for name, value in model.state_dict().items():
        local = value.to_local() if isinstance(value, DTensor) else value
        local.copy_(saved["model"][name])

    params = [p for g in optimizer.param_groups for p in g["params"]]
    osd = saved["optimizer"]
    for i, entry in osd["state"].items():
        p = params[i]
        for key, value in entry.items():
            if key != "step":
                entry[key] = DTensor.from_local(
                    value.to(p.device), p.device_mesh, p.placements, shape=p.shape, stride=p.stride()
                )
    optimizer.load_state_dict(osd)
    scheduler.load_state_dict(saved["scheduler"])
    return saved["epoch"], saved["step"]
