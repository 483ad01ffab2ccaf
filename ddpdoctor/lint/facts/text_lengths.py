"""Texts and tokens of which each rank's are as long as its longest one: generated, padded by a tokenizer or by what
puts batches together, and what a model gives for each token."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import own_sizes
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics, vocabulary
from ddpdoctor.lint.values.abstract_objects import Made, Method
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Taint, Value
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

#: what only a model of transformers is told when it generates
_OF_TEXTS = frozenset({
    "max_new_tokens", "max_length", "generation_config", "attention_mask", "input_ids", "pad_token_id", "eos_token_id",
    "num_beams", "do_sample", "decoder_start_token_id",
})  # fmt: skip
#: what may make all that it generates equally long
_LEAST = frozenset({"min_new_tokens", "min_length"})
_GENERATED = "?.generate"


def is_generated(value: Value) -> bool:
    """Whether it is texts of a model of transformers, which end where the last one of this rank's batch does."""
    return any(map(_is_generated, own_sizes.behind_joined(value)))


def _is_generated(value: Value) -> bool:
    made = _sequences(value).object
    if not isinstance(made, Made) or made.path != _GENERATED:
        return False
    given = dict(made.keywords)
    least = [given[name].constant for name in _LEAST & given.keys()]
    free = bool(_OF_TEXTS & given.keys()) and all(number in (0, 1, None) for number in least)
    return free and not _takes_settings(made)


def _takes_settings(made: Made) -> bool:
    """Whether it may be given more settings than are seen: texts that a tokenizer has prepared, or a batch of them,
    tell nothing about lengths."""
    unknown = [value for name, value in made.keywords if name in ("*", "**")]
    if all(map(_is_batch, unknown)):
        return False
    written = [last_name(k.value) for k in made.node.keywords if k.arg is None] if made.node is not None else []
    others = [name for name in written if not heuristics.NAMES_BATCH.found_in(name)]
    # dicts whose entries are known are not among the unknown ones
    return len(written) < len(unknown) or len(others) > len(written) - len(unknown)


def _sequences(value: Value) -> Value:
    """What was generated, of a result that holds it beside other things: `generate(...).sequences`."""
    obj = value.object
    return own_sizes.kept_of(obj.receiver) if isinstance(obj, Method) and obj.name == "sequences" else value


def _is_batch(value: Value) -> bool:
    kept = own_sizes.kept_of(value)
    made = kept.object
    return kept is not value or bool(value.tags & Tag.BATCH) or (isinstance(made, Made) and made.path.startswith("?."))


#: functions of a tokenizer that make texts equally long
_TOKENIZING = frozenset({"?.__call__", "?.batch_encode_plus", "?.pad"})
#: how they are told to make them as long as the longest
_TO_LONGEST = (True, "longest")


def is_of_tokenizer(value: Value) -> bool:
    """Whether it has an entry for each token of texts that a tokenizer has padded to the longest of them."""
    for one in own_sizes.behind_joined(value):
        name, of = own_sizes.made_of(one)
        made = own_sizes.kept_of(of).object if of is not None and name in vocabulary.TOKEN_ENTRIES else None
        if not isinstance(made, Made) or made.path not in _TOKENIZING:
            continue
        padding = made.keyword("padding")
        if padding is not None and padding.known and padding.constant in _TO_LONGEST and _are_of_rank(made):
            return True
    return False


def _are_of_rank(made: Made) -> bool:
    """Whether the texts are a rank's own."""
    return any(value.taint is Taint.RANK_LOCAL for value in made.args[1:])


#: functions of transformers that put batches together, and pad each to the longest text in it; those of labels, too
_COLLATORS = ("DataCollatorWithPadding", "DataCollatorForSeq2Seq", "DataCollatorForTokenClassification")


def pads_by_batch(facts: ModuleFacts) -> bool:
    """Whether the files in reach pad each batch of texts to its longest one, and none to a length."""
    found = False
    for call in _calls(facts):
        padding = _given(call, "padding")
        if padding is None:
            found = found or last_name(call.func) in _COLLATORS
        elif isinstance(padding, ast.Constant) and padding.value in _TO_LONGEST:
            found = True
        elif not (isinstance(padding, ast.Constant) and padding.value is False):
            return False
    return found


#: what a model of transformers gives for each token
_BY_TOKEN = frozenset({"logits", "start_logits", "end_logits"})
#: models of it that give something for each token
_MODELS = tuple(
    f"For{what}" for what in ("CausalLM", "TokenClassification", "Seq2SeqLM", "MaskedLM", "QuestionAnswering")
)


def is_of_model(value: Value) -> bool:
    """Whether it is what a model of transformers gives for each token of a batch, or the likeliest of it."""
    for one in own_sizes.behind_joined(value):
        name, of = own_sizes.made_of(one)
        if name == "argmax" and of is not None:
            name, of = own_sizes.made_of(own_sizes.kept_of(of))
        if name in _BY_TOKEN and of is not None and _is_call_of_model(of):
            return True
    return False


def _is_call_of_model(value: Value) -> bool:
    called, model = own_sizes.made_of(value)
    made = model.object if called == "__call__" and model is not None else None
    if not isinstance(made, Made) or not made.path.startswith("transformers."):
        return False
    return any(made.path.removesuffix(".from_pretrained").endswith(name) for name in _MODELS)


def padded_alike(facts: ModuleFacts) -> bool:
    """Whether the files in reach pad texts, and all to a length that does not depend on the texts."""
    padding = [call for call in _calls(facts) if _given(call, "padding") is not None]
    return bool(padding) and all(map(_to_a_length, padding))


def _calls(facts: ModuleFacts) -> Iterator[ast.Call]:
    for module in facts.modules:
        yield from module.of(ast.Call)


def _to_a_length(call: ast.Call) -> bool:
    """Whether a tokenizer makes shorter texts longer and longer ones shorter, to a length that nothing computes."""
    padding, cut, length = (_given(call, name) for name in ("padding", "truncation", "max_length"))
    longer = isinstance(padding, ast.Constant) and padding.value == "max_length"
    shorter = cut is not None and not (isinstance(cut, ast.Constant) and not cut.value)
    return longer and shorter and (length is None or not any(isinstance(n, ast.Call) for n in walk(length)))


def _given(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def is_written_by_token(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a gather is given an entry of a batch of texts, or logits that are only wanted for their mean, as it is
    written."""
    if call.site.file != facts.module.path or not call.node.args or not _by_accelerate(call.node):
        return False
    return _by_token(call.node.args[0], reduced=_reduced(facts, call.node)) and not _of_one_length(facts, call)


def _of_one_length(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the function pads for the gather, or makes a number of what it gathers before."""
    function = innermost_function(facts.module.tree, call.site.line)
    if function is None:
        return False
    name = text_of(call.node.args[0])
    numbers = (
        n for n in walk(function) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
        and n.lineno < call.site.line and last_name(n.value.func) in vocabulary.REDUCING
    )  # fmt: skip
    reduced = any(text_of(target) == name for n in numbers for target in n.targets)
    return reduced or heuristics.ONE_LENGTH.found_in(text_of(function))


def _by_accelerate(node: ast.Call) -> bool:
    """Whether it is a gather of an `Accelerator`: a tensor has a method of that name, too."""
    if not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "gather_for_metrics" or last_name(node.func.value) == "accelerator"


def _by_token(node: ast.expr, *, reduced: bool) -> bool:
    """Whether it is an entry of a batch of texts, or logits that are only wanted for their mean."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in vocabulary.TOKEN_ENTRIES
    return reduced and heuristics.TOKEN_LOGITS.found_in(last_name(node))


def _reduced(facts: ModuleFacts, node: ast.AST) -> bool:
    """Whether one number is made of the result at once: `gather(x).detach().mean()`."""
    parents = facts.parents
    while isinstance(method := parents.get(node), ast.Attribute) and isinstance(parents.get(method), ast.Call):
        if method.attr in ("mean", "sum"):
            return True
        node = parents[method]
    return False
