"""Cross entropies of a program: calls of the function, and of a criterion."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.values.abstract_objects import Made

_LOSS, _CRITERION = "torch.nn.functional.cross_entropy", "torch.nn.CrossEntropyLoss"


def calls(facts: ModuleFacts) -> Iterator[CallEvent]:
    """Calls of `F.cross_entropy` and of `nn.CrossEntropyLoss()`: of logits and targets."""
    yield from facts.named(_LOSS)
    for call in facts.methods("__call__"):
        made = call.receiver.object if call.receiver is not None else None
        if isinstance(made, Made) and made.path == _CRITERION:
            yield call
