"""GPUs: a group's backend, where a process chooses its device, and what uses CUDA without naming a device."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics, packages
from ddpdoctor.lint.knowledge.packages import Does
from ddpdoctor.lint.values.abstract_objects import External, Made
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.modules import Module, once
from ddpdoctor.program.nodes import last_name

GROUP = "torch.distributed.init_process_group"
#: make one device the current one for the rest of the process
SETTERS = (
    "torch.cuda.set_device", "torch.accelerator.set_device_index", "torch.accelerator.set_device_idx",
    "classy_vision.generic.distributed_util.set_cuda_device_index",
)  # fmt: skip
#: with NCCL they send tensors through the current device
OBJECTS = tuple(
    f"torch.distributed.{name}"
    for name in ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list")
)
#: since this torch version a barrier puts a small tensor on the current device, by which its backend is chosen. NCCL
#: reduces another one on a GPU that it guesses as it always did (`rank % device_count()`), if the group has used none
BARRIER_TOUCHES_CURRENT = (2, 8)


def of_one_gpu(wrap: CallEvent) -> bool:
    """Whether a wrapper is told the one GPU on which its network is: `DDP(net, device_ids=[rank])`."""
    ids = wrap.argument(1, "device_ids")
    return ids is not None and not (ids.known and ids.constant is None)


def strings(module: Module, node: ast.expr | None, depth: int = 0) -> set[str]:
    """Strings that an expression can be, through conditional expressions and names assigned in the file."""
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    if isinstance(node, ast.IfExp):
        return strings(module, node.body, depth) | strings(module, node.orelse, depth)
    if isinstance(node, ast.BoolOp):
        return {text for value in node.values for text in strings(module, value, depth)}
    if isinstance(node, ast.Name) and depth < 3:
        return {text for value in _assigned(module, node.id) for text in strings(module, value, depth + 1)}
    if isinstance(node, ast.Attribute):
        return _defaults(module, node.attr)
    return set()


def _defaults(module: Module, option: str) -> set[str]:
    """The texts that an option is where nobody gives it."""
    return {one.default_text for one in module.options.get(option, ())} - {""}


def _assigned(module: Module, name: str) -> list[ast.expr]:
    return [
        n.value
        for n in module.nodes
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in n.targets)
    ]


def written(call: CallEvent, position: int, name: str) -> ast.expr | None:
    """The source expression of an argument."""
    if position < len(call.node.args):
        return call.node.args[position]
    return next((k.value for k in call.node.keywords if k.arg == name), None)


def texts_of(call: CallEvent, position: int, name: str) -> set[str]:
    """Strings that an argument can be: its value if known, else from its source expression."""
    value = call.argument(position, name)
    if value is not None and isinstance(value.constant, str):
        return {value.constant}
    return strings(call.context.module, written(call, position, name))


def on_nccl(facts: ModuleFacts, group: CallEvent) -> bool:
    """Whether the group can certainly use NCCL: because it is requested, or by torch's default."""
    if group.opaque:
        return False
    backend = written(group, 0, "backend")
    if backend is None or (isinstance(backend, ast.Constant) and backend.value is None):
        return facts.torch_version >= (2, 0)
    return any("nccl" in text.lower() for text in texts_of(group, 0, "backend"))


def may_be_on_nccl(facts: ModuleFacts, group: CallEvent) -> bool:
    """Whether nothing says that the group has another backend."""
    texts = texts_of(group, 0, "backend")
    return on_nccl(facts, group) or not texts


def bound(group: CallEvent) -> bool:
    """Whether `device_id=` binds the process to its device."""
    given = group.keyword("device_id")
    return given is not None and not (given.known and given.constant is None)


def chosen(facts: ModuleFacts) -> bool:
    """Whether something in the file or its imports chooses a device for each process, or may."""
    if facts.suggests(heuristics.CHOOSES_DEVICE) or facts.named("torch.cuda.device"):
        return True
    return one_visible(facts) or placed(facts) or any(_bound_in(m) for m in facts.modules)


#: what takes the device of its process
_BINDS = frozenset({"init_process_group", "FullyShardedDataParallel", "FSDP", "partial"})


def _bound_in(module: Module) -> bool:
    """Whether a group, or a wrapper that moves the network, is given the device of the process."""
    return "device_id" in module.words and any(
        keyword.arg == "device_id" and last_name(call.func) in _BINDS
        for call in module.of(ast.Call)
        for keyword in call.keywords
    )


def placed(facts: ModuleFacts) -> bool:
    """Whether a framework starts the processes, or manages their devices."""
    return managed(facts, Does.DEVICES)


def managed(facts: ModuleFacts, does: Does) -> bool:
    """Whether the file, or one that it uses, imports a framework that does one of these."""
    own = facts.module.name.partition(".")[0]
    for module in facts.modules:
        # a package says of itself in its code what the table says of it to others
        if packages.imported((path for path in _always(module) if path.partition(".")[0] != own), does):
            return True
    return False


@once
def _always(module: Module) -> frozenset[str]:
    """What a file imports, without packages for other devices that it imports under a condition only."""
    first = (node for node in module.tree.body if isinstance(node, (ast.Import, ast.ImportFrom)))
    bound = {(alias.asname or alias.name).partition(".")[0] for node in first for alias in node.names}
    imports = module.imports.items()
    return frozenset(p for name, p in imports if name in bound or p.partition(".")[0] not in packages.OTHER_DEVICES)


def one_visible(facts: ModuleFacts) -> bool:
    """Whether the program sets the visible devices, so that GPU 0 may be a different one in each process."""
    return any(_names_visible(module) for module in facts.modules)


@once
def _names_visible(module: Module) -> bool:
    """Whether the variable for it is in the code: in a comment, or a sentence for the user, it sets nothing."""
    if not heuristics.ONE_VISIBLE_DEVICE.found_in(module.text):
        return False
    filled_in = {id(part) for text in module.of(ast.JoinedStr) for part in text.values}
    texts = ((id(n), n.value) for n in module.of(ast.Constant) if isinstance(n.value, str))
    code = (text for node, text in texts if node in filled_in or " " not in text)
    return heuristics.ONE_VISIBLE_DEVICE.found_in_any((*module.words, *code))


def may_be_chosen_outside(facts: ModuleFacts) -> bool:
    """Whether a function is called that cannot be read and whose name suggests a set-up."""
    for call in facts.calls:
        root, _, rest = call.path.partition(".")
        own = root == facts.module.name.partition(".")[0]
        if rest and not own and not is_read(root) and heuristics.MAY_CHOOSE_DEVICE.found_in(rest.lower()):
            return True
    stars = (star for star in facts.module.stars if not is_read(star.partition(".")[0]))
    return any(facts.analysis.project.find(star, facts.module) is None for star in stars)


def is_read(root: str) -> bool:
    """Whether a package's functions are known and do not choose the device."""
    return root in packages.READ


def unspecified(call: CallEvent) -> bool:
    """Whether the call puts something on "cuda" without an index: on the current device."""
    if call.method == "cuda":
        return not call.args and all(name == "non_blocking" for name, _ in call.keywords)
    if call.method == "to":
        return _plain_cuda(call, 0, "device")
    if call.path.startswith("torch.") and call.path.count(".") == 1 and call.path != "torch.device":
        return call.keyword("device") is not None and _plain_cuda(call, len(call.node.args), "device")
    return False


def _plain_cuda(call: CallEvent, position: int, name: str) -> bool:
    value = call.argument(position, name)
    if value is None:
        return False
    made = _device(value)
    if made is not None:
        if made.node is None or len(made.args) != 1 or made.keywords:
            return False
        given = made.args[0]
        texts = {given.constant} if isinstance(given.constant, str) else strings(call.context.module, made.node.args[0])
        return _is_first(texts)
    return _is_first(texts_of(call, position, name))


def _is_first(texts: set[str]) -> bool:
    """Whether it is the current device, or GPU 0 by its number, if there is a GPU."""
    return bool(texts & {"cuda", "cuda:0"}) and texts <= {"cuda", "cuda:0", "cpu", "mps"}


def _device(value: Value) -> Made | None:
    obj = value.object
    return obj if isinstance(obj, Made) and obj.path == "torch.device" else None


def default_group(call: CallEvent) -> bool:
    """Whether no `group=` is given that could be another group."""
    group = call.keyword("group")
    return group is None or isinstance(group.object, External) or (group.known and group.constant is None)
