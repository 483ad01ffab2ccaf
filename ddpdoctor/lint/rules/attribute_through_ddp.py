"""An attribute of the network is read from its wrapper

## What it does
Finds an attribute or method of your own network that is read from the DistributedDataParallel object around it, and a
method that is called on what Accelerate's `prepare` returns, which is such an object where several processes train; as
a hint also one that networks of transformers have, such as `generate`.

## Why it harms
The wrapper forwards only the forward pass and the attributes that every `torch.nn.Module` has. Anything else raises
AttributeError.

## Example
```python
model = DistributedDataParallel(net)
features = model.encode(images)
```

## Use instead
```python
model = DistributedDataParallel(net)
features = model.module.encode(images)
```

## Fix safety
Unsafe: `.module` is added. A forward pass that goes around the wrapper does not average gradients, see DD163.

## When it is wrong
When code that lint cannot see sets that attribute on the wrapper. Attributes that any reachable file assigns or sets,
tests of the model with `hasattr`, and reads inside a `try` are not reported; nor is what a network whose classes are in
sight does not have either. If the network's class is not in sight, the finding is a hint: at first looks, few of such
networks had the attribute; otherwise it is a warning. If the model is wrapped under a condition, the rule is silent
under a flag that may say the opposite.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import edits, networks
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.interpreter.classes import external_bases, find_method
from ddpdoctor.lint.interpreter.events import Access, Guard
from ddpdoctor.lint.knowledge import frameworks, heuristics, vocabulary
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.truths import invert
from ddpdoctor.lint.values.values import Atom, Symbol, Taint
from ddpdoctor.model.finding import Applicability, Finding, Fix, Severity
from ddpdoctor.program.modules import Module, once
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import expression_of, text_of

RULE = LintRule(
    "DD166", "attribute-through-ddp", Severity.WARNING, advice="read it from the network itself: model.module.NAME"
)

#: public attributes of torch.nn.Module and DistributedDataParallel, torch 1.8 to 2.13
_OWN = frozenset({
    "T_destination", "add_module", "apply", "batched_grad_copy", "bfloat16", "broadcast_bucket_size",
    "broadcast_buffers", "bucket_bytes_cap", "bucket_bytes_cap_default", "bucket_bytes_cap_list", "bucket_cap_mb",
    "buffer_hook", "buffers", "call_super_init", "children", "compile", "cpu", "cuda", "ddp_uneven_inputs_config",
    "ddp_join_enabled", "device", "device_ids", "device_mesh", "device_type", "dim", "double", "dump_patches", "eval",
    "extra_repr", "find_unused_parameters", "float", "forward", "forward_sync_buffers", "gather", "get_buffer",
    "get_extra_state", "get_parameter", "get_submodule", "gradient_as_bucket_view", "half",
    "has_custom_per_bucket_caps", "init_sync", "ipu", "is_multi_device_module", "join", "join_device", "join_hook",
    "join_process_group", "load_state_dict", "logger", "mixed_precision", "module", "modules", "modules_buffers",
    "modules_params", "mtia", "named_buffers", "named_children", "named_module_buffers", "named_modules",
    "named_parameters", "no_sync", "num_iterations", "output_device", "parameters", "parameters_to_ignore",
    "process_group", "reducer", "register_backward_hook", "register_buffer", "register_comm_hook",
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_load_state_dict_post_hook", "register_load_state_dict_pre_hook",
    "register_module", "register_parameter", "register_state_dict_post_hook", "register_state_dict_pre_hook",
    "require_backward_grad_sync", "require_forward_param_sync", "requires_grad_", "scatter", "set_extra_state",
    "set_submodule", "share_memory", "skip_all_reduce_unused_params", "state_dict", "static_graph", "to",
    "to_empty", "to_kwargs", "train", "training", "type", "use_side_stream_for_tensor_copies",
    "will_sync_module_buffers", "xpu", "zero_grad",
})  # fmt: skip


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Reads of what no wrapper has."""
    yield from _of_prepared(facts)
    yield from _of_prepared_library(facts)
    for access in facts.analysis.accesses:
        if _present(facts, access.name) or access.context.handler == "try" or _asked(access):
            continue
        made = wrapping.wrapper_of(access.owner)
        if made is not None and made.path != "torch.nn.parallel.DistributedDataParallel":
            continue
        if made is None and not _whenever_wrapped(facts, access):
            continue
        undecided = next((g for g in access.context.guards if _undecided(g)), None)
        if undecided is not None and access.name in _OF_ENGINES:
            continue
        has = _network_has(facts, access, made)
        if has is False:
            continue  # neither has it, wrapped or not
        where = "" if made is not None else "where the model is wrapped, "
        message = f"{where}DistributedDataParallel has no attribute {access.name!r}"
        write = f"write `.module.{access.name}`"
        said = f"{message}; the network has it: {write}" if has else Conditional(_UNSEEN, f"{message}: {write}")
        yield facts.finding(
            RULE, access.site, said, fix=_fix(facts, access), related=_related(made.site if made else None),
            severity=Severity.HINT if has is None else Severity.WARNING,
            context=access.context,
        )  # fmt: skip


_UNSEEN = "if the network has it, which is not in sight: "


def _network_has(facts: ModuleFacts, access: Access, made: Made | None) -> bool | None:
    network = made.argument(0, "module") if made is not None else access.owner
    return networks.has(facts.analysis, network, access.name) if network is not None else None


def _of_prepared(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Reads of what a network of the project has from what Accelerate has made of it."""
    if not facts.named(frameworks.ACCELERATOR) or facts.named(frameworks.FABRIC) or _needs_deepspeed(facts):
        return  # what Fabric returns hands attributes on, and so does DeepSpeed's engine
    for access in facts.analysis.prepared:
        if access.site.file != facts.module.path or access.context.handler == "try" or _asked(access):
            continue
        own = access.owner.object
        if not isinstance(own, Instance) or "torch.nn.Module" not in external_bases(facts.analysis, own.info):
            continue
        if find_method(facts.analysis, own.info, access.name) is None or _present(facts, access.name):
            continue
        if any(_undecided(guard) for guard in access.context.guards):
            continue
        message = _PREPARED.format(access.name)
        yield facts.finding(RULE, access.site, message, severity=Severity.WARNING, context=access.context)


def _of_prepared_library(facts: ModuleFacts) -> Iterator[Finding | None]:
    """What a network of transformers is asked for after Accelerate has prepared it."""
    if not facts.named(frameworks.ACCELERATOR) or facts.named(frameworks.FABRIC) or _needs_deepspeed(facts):
        return
    for call in facts.methods(*_OF_TRANSFORMERS):
        network = call.receiver
        asked = any(_undecided(guard) or _asks_what_it_is(guard) for guard in call.context.guards)
        if network is None or not network.tags & Tag.PREPARED or call.context.handler == "try" or asked:
            continue
        message = _PREPARED.format(call.method)
        yield facts.finding(RULE, call.site, message, severity=Severity.HINT, context=call.context)


def _needs_deepspeed(facts: ModuleFacts) -> bool:
    """Whether the program ends in an error unless Accelerate uses DeepSpeed: it reads what is in its plugin, and asks
    nowhere whether there is one."""
    asked = [*(node.test for node in facts.module.of(ast.If)), *(node.test for node in facts.module.of(ast.IfExp))]
    if any("deepspeed" in text_of(test).lower() for test in asked):
        return False
    of = (node.value for node in facts.module.of(ast.Attribute))
    return any(isinstance(owner, ast.Attribute) and owner.attr == "deepspeed_plugin" for owner in of)


_PREPARED = (
    "where several processes train, Accelerate has wrapped the network, and DistributedDataParallel has no attribute "
    "{!r}: ask what unwrap_model returns"
)
#: methods of the networks of transformers, which nothing else has that is prepared
_OF_TRANSFORMERS = ("save_pretrained", "generate", "push_to_hub", "resize_token_embeddings")


#: what DeepSpeed's engine has, with which a script may wrap the model under a condition
_OF_ENGINES = frozenset({"save_checkpoint", "load_checkpoint", "backward", "step", "save_16bit_model"})


def _undecided(guard: Guard) -> bool:
    """Whether lint does not know if the condition can hold: it depends on no option and on no rank."""
    return any(isinstance(atom, Symbol) and atom.taint is Taint.UNKNOWN for atom in guard.truth)


def _present(facts: ModuleFacts, name: str) -> bool:
    """The wrapper has it, or some code sets it."""
    modules = facts.modules
    if name in _OWN or name.startswith("_") or any(map(_by_computed_name, modules)):
        return True
    # what a class stores in itself is the network's own
    return any(stored == name and owner not in ("self", "cls") for m in modules for owner, stored in m.attribute_stores)


@once
def _by_computed_name(module: Module) -> bool:
    """Whether something but settings or `self` is given attributes by a computed name, or a wrapper has its own way."""
    if not module.words.isdisjoint(heuristics.SETS_ATTRIBUTES.words):
        given = (node.args[0] for node in module.of(ast.Call) if last_name(node.func) == "setattr" and node.args)
        return any(last_name(owner) not in _NO_MODELS for owner in given) or any(
            "__getattr__" in info.methods and any("Parallel" in text_of(base) for base in info.node.bases)
            for info in module.classes
        )
    return False


_NO_MODELS = vocabulary.SETTINGS_NAMES | {"self", "cls"}


def _asked(access: Access) -> bool:
    """After a condition that tests what the model is, in any form; a condition on the rank does not count, nor does
    one that only asks whether there is a model.
    """
    return any(_asks_what_it_is(g) for g in access.context.guards if not _there(access.node.value, g.text))


def _asks_what_it_is(guard: Guard) -> bool:
    return len(guard.truth) == 1 and heuristics.ASKS_WHETHER_WRAPPED.found_in(guard.text.lower())


def _there(model: ast.expr, condition: str) -> bool:
    """`hasattr(self, "model")`, of `self.model`."""
    if not isinstance(model, ast.Attribute):
        return False
    return condition in (f"hasattr({text_of(model.value)}, {name})" for name in (repr(model.attr), f'"{model.attr}"'))


def _whenever_wrapped(facts: ModuleFacts, access: Access) -> bool:
    """Wrapped on some paths, and read under no condition that may exclude them."""
    if not access.owner.tags & Tag.MAYBE or not facts.analysis.wrapped:
        return False
    return all(
        (_compares(g) and not any(g.truth in (w.truth, _inverse(w)) for w in wrap.guards))
        or any(g.truth == w.truth and g.side == w.side for w in wrap.guards)
        for wrap in facts.analysis.wrapped.values() for g in access.context.guards
    )  # fmt: skip


def _compares(guard: Guard) -> bool:
    """`rate != 0`, on a quantity: a flag may be another name for what decides whether the model is wrapped."""
    tree = expression_of(guard.text)
    if tree is None:
        return False
    return any(isinstance(n, ast.Compare) for n in walk(tree)) and not any(isinstance(n, ast.Not) for n in walk(tree))


def _inverse(guard: Guard) -> tuple[Atom, ...]:
    return tuple(invert(atom) for atom in guard.truth)


def _related(site: SourceSite | None) -> tuple[tuple[SourceSite, str], ...]:
    return ((site, "wrapped here"),) if site is not None else ()


def _fix(facts: ModuleFacts, access: Access) -> Fix | None:
    if access.site.file != facts.module.path or not isinstance(access.node.value, (ast.Name, ast.Attribute)):
        return None
    return Fix(Applicability.UNSAFE, (edits.behind(facts.module, access.node.value, ".module"),))
