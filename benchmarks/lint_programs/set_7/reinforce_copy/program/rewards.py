def copy_reward(prompt, completion):
    n = min(prompt.size(1), completion.size(1))
    return (prompt[:, :n] == completion[:, :n]).float().mean(dim=1)


def group_advantages(rewards, group_size, eps=1e-4):
    grouped = rewards.view(-1, group_size)
    adv = (grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + eps)
    return adv.flatten()


def token_logprobs(model, tokens, prompt_len):
    logits = model(tokens[:, :-1])
    logp = logits.log_softmax(-1).gather(-1, tokens[:, 1:].unsqueeze(-1)).squeeze(-1)
    return logp[:, prompt_len - 1 :]
