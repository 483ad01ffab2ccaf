"""Work on the weights of a model that is already partitioned (ZeRO stage 3)."""
import deepspeed
import torch
import torch.distributed as dist


@torch.no_grad()
def load_base(model, path, vocab):
    """Copies a base checkpoint into the model; rows from `vocab` on stay as they are."""
    state = torch.load(path, map_location="cpu", weights_only=True) if dist.get_rank() == 0 else None
    for name, param in model.named_parameters():
        with deepspeed.zero.GatheredParameters([param], modifier_rank=0):
            if dist.get_rank() == 0:
                source = state[name].to(param.device, param.dtype)
                if name in ("tokens.weight", "head.weight"):
                    param[:vocab].copy_(source)
                else:
                    param.copy_(source)


@torch.no_grad()
def seed_new_tokens(model, pieces):
    """Starts each new token at the mean of the pieces that it used to be split into."""
    tables = [model.tokens.weight, model.head.weight]
    with deepspeed.zero.GatheredParameters(tables):
        for row, parts in pieces.items():
            for table in tables:
                table[row] = table[parts].float().mean(dim=0).to(table.dtype)


@torch.no_grad()
def table_norms(model):
    with deepspeed.zero.GatheredParameters([model.tokens.weight]):
        return model.tokens.weight.float().norm(dim=1).mean().item()
