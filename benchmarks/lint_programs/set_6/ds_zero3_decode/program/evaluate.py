import torch
import torch.distributed as dist

from sums import ANSWER, EOS, PAD, PROMPT


@torch.no_grad()
def greedy(engine, prompt, max_new):
    ids = prompt
    done = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    for _ in range(max_new):
        nxt = engine(ids)[:, -1].argmax(-1)
        nxt = torch.where(done, torch.full_like(nxt, PAD), nxt)
        ids = torch.cat([ids, nxt[:, None]], dim=1)
        done |= nxt == EOS
        if done.all():
            break
    return ids[:, prompt.size(1):]


def exact_match(engine, loader):
    engine.eval()
    stats = torch.zeros(2, device=engine.device)
    for ids, _ in loader:
        ids = ids.to(engine.device)
        out = greedy(engine, ids[:, :PROMPT], ANSWER)
        want = ids[:, PROMPT : PROMPT + out.size(1)]
        rest = ids[:, PROMPT + out.size(1):]
        hit = (out == want).all(1) & (rest == PAD).all(1)
        stats += torch.stack([hit.sum(), torch.tensor(len(ids), device=hit.device)])
    dist.all_reduce(stats)
    engine.train()
    return (stats[0] / stats[1]).item()
