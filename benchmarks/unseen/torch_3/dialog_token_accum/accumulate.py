"""Gradient accumulation by target tokens instead of by a count of micro-batches."""
from contextlib import ExitStack


def token_accumulator(model, optimizer, budget, on_update):
    """Returns a function that takes one micro-batch; the weights are updated when `budget`
    target tokens have been seen."""
    state = {"tokens": 0, "micro": 0, "updates": 0}

    def full(extra):
        return state["tokens"] + extra >= budget

    def feed(compute_loss, n_tokens):
        with ExitStack() as stack:
            if not full(n_tokens):
                stack.enter_context(model.no_sync())
            loss = compute_loss(model) * (n_tokens / budget)
            loss.backward()
        state["micro"] += 1
        if full(n_tokens):
            optimizer.step()
            optimizer.zero_grad()
            state["updates"] += 1
            on_update(state["updates"], state["micro"], state["tokens"] + n_tokens)
            state.update(tokens=0, micro=0)
        else:
            state["tokens"] += n_tokens
        return loss.detach()

    return feed
