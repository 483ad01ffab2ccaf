"""What methods and functions of torch do with the memory of a tensor: share it, read it, change it, or look at neither.

Checked against torch 2.13.
"""

from __future__ import annotations

#: methods and attributes whose result surely shares the tensor's memory
VIEWS = frozenset({
    "data", "detach", "view", "view_as", "squeeze", "unsqueeze", "unbind", "chunk", "split", "tensor_split", "narrow",
    "select", "transpose", "t", "T", "mT", "permute", "expand", "expand_as", "unfold", "movedim", "swapaxes",
})  # fmt: skip
#: methods that end with `_` and leave the numbers alone
_NO_CHANGE = frozenset({
    "requires_grad_", "detach_", "share_memory_", "rename_", "resize_", "squeeze_", "unsqueeze_", "t_", "transpose_",
    "as_strided_", "swapaxes_", "swapdims_", "set_", "refine_names_", "apply_",
})  # fmt: skip
#: methods that read the numbers at once
READING = frozenset({
    "item", "mean", "sum", "max", "min", "cpu", "cuda", "float", "double", "half", "bfloat16", "long", "int", "bool",
    "any", "all", "abs", "isnan", "isinf", "isfinite", "norm", "clone", "argmax", "argmin", "tolist", "numpy", "eq",
    "ne", "lt", "gt", "le", "ge", "add", "sub", "mul", "div", "pow", "sqrt", "exp", "log", "topk", "sort", "cumsum",
    "var", "std", "median", "prod", "amax", "amin", "logsumexp", "softmax", "log_softmax", "sigmoid", "relu", "tanh",
    "clamp", "clip", "square", "round", "floor", "ceil", "count_nonzero", "nan_to_num", "masked_fill", "matmul", "dot",
    "unique", "nonzero", "masked_select", "repeat", "repeat_interleave", "mm", "bmm", "neg", "sign", "gather",
    "index_select", "true_divide", "divide", "multiply", "subtract", "flip", "roll", "addmm", "rsqrt", "reciprocal",
})  # fmt: skip
#: functions of torch that ask for a size, a type or an address
_LOOKING = frozenset({
    "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "is_tensor", "numel",
    "is_floating_point", "is_complex", "result_type", "detach", "unbind", "chunk", "split", "tensor_split", "narrow",
    "transpose", "permute", "squeeze", "unsqueeze", "as_strided", "view_as_real", "view_as_complex", "reshape",
    "flatten", "get_device",
})  # fmt: skip
#: builtin functions that read the numbers of a tensor
READERS = frozenset({"print", "float", "int", "bool", "sum", "max", "min", "abs", "round", "str", "repr"})

#: functions that make a tensor of the numbers that they are given
OF_NUMBERS = frozenset({
    "torch.tensor", "torch.as_tensor", "torch.scalar_tensor", "torch.LongTensor", "torch.IntTensor",
    "torch.FloatTensor", "torch.DoubleTensor", "torch.cuda.LongTensor", "torch.cuda.IntTensor",
    "torch.cuda.FloatTensor",
})  # fmt: skip
#: functions that make a tensor of the size that they are given
OF_SIZE = frozenset({"torch.zeros", "torch.ones", "torch.empty", "torch.full"})


def changes(method: str) -> bool:
    """Whether a method of a tensor changes its numbers in place."""
    return method.endswith("_") and not method.startswith("_") and method not in _NO_CHANGE


def reads(path: str) -> bool:
    """Whether a function of torch, by its canonical name, computes with the numbers that it is given."""
    head, _, last = path.rpartition(".")
    computing = head in ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch._utils")
    return computing and last not in _LOOKING and not last[:1].isupper()
