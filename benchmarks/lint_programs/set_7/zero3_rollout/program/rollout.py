import torch


@torch.no_grad()
def sample(engine, input_ids, attention_mask, max_new_tokens, eos_id, pad_id, temperature=1.0):
    engine.eval()
    tokens, mask = input_ids, attention_mask
    finished = torch.zeros(tokens.size(0), dtype=torch.bool, device=tokens.device)
    for _ in range(max_new_tokens):
        position_ids = (mask.cumsum(-1) - 1).clamp_min(0)
        logits = engine(input_ids=tokens, attention_mask=mask, position_ids=position_ids, use_cache=False).logits
        probs = torch.softmax(logits[:, -1].float() / temperature, dim=-1)
        nxt = torch.multinomial(probs, 1).squeeze(1)
        nxt = torch.where(finished, torch.full_like(nxt, pad_id), nxt)
        tokens = torch.cat([tokens, nxt[:, None]], dim=1)
        mask = torch.cat([mask, (~finished).long()[:, None]], dim=1)
        finished = finished | (nxt == eos_id)
        if finished.all():
            break
    engine.train()
    return tokens, mask


def completion_logprobs(engine, tokens, mask, prompt_len):
    position_ids = (mask.cumsum(-1) - 1).clamp_min(0)
    logits = engine(input_ids=tokens, attention_mask=mask, position_ids=position_ids, use_cache=False).logits
    logp = torch.log_softmax(logits[:, prompt_len - 1 : -1].float(), dim=-1)
    return logp.gather(-1, tokens[:, prompt_len:, None]).squeeze(-1), mask[:, prompt_len:].float()
