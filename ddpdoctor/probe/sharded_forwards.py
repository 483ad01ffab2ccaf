"""Counts forwards of both generations of FSDP and of DeepSpeed, once the job has imported them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import calls, deferred_patches, state, training
from .transparent_hooks import drop_frame, impersonate


def install() -> None:
    deferred_patches.when_imported("torch.distributed.fsdp", _patch_fsdp)
    deferred_patches.when_imported("deepspeed.runtime.engine", _patch_deepspeed)


def _patch_fsdp(fsdp: ModuleType) -> None:
    """Count forwards of FSDP roots of either generation, where the root determines that it is the root."""
    from torch.distributed.fsdp import fully_sharded_data_parallel as first

    del fsdp
    first._root_pre_forward = _fsdp1_root(first._root_pre_forward)
    try:
        from torch.distributed.fsdp._fully_shard._fsdp_state import FSDPState
    except ImportError:  # before 2.6
        from torch.distributed._composable.fsdp._fsdp_state import FSDPState
    FSDPState._root_pre_forward = _fsdp2_root(FSDPState._root_pre_forward)


def _fsdp1_root(function: Callable[..., Any]) -> Callable[..., Any]:
    is_tracing = calls.is_tracing()

    def _root_pre_forward(fsdp: Any, *args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            return function(fsdp, *args, **kwargs)
        try:
            result = function(fsdp, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        if getattr(fsdp, "_is_root", False):
            training.count_forward(state.page, getattr(fsdp, "_sync_gradients", True), sys._getframe(1))
        return result

    return impersonate(_root_pre_forward, function)


def _fsdp2_root(function: Callable[..., Any]) -> Callable[..., Any]:
    is_tracing = calls.is_tracing()

    def _root_pre_forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            return function(self, *args, **kwargs)
        context = getattr(self, "_state_ctx", None)
        before = getattr(context, "iter_forward_root", None)
        try:
            result = function(self, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        if before is None and getattr(getattr(self, "_state_ctx", None), "iter_forward_root", None) is self:
            training.count_forward(state.page, _fsdp2_synchronises(self), sys._getframe(1))
        return result

    return impersonate(_root_pre_forward, function)


def _fsdp2_synchronises(fsdp: Any) -> bool:
    """False after `set_requires_gradient_sync(False)`; the root itself may have no parameters of its own."""
    found = getattr(fsdp, "_fsdp_param_groups", None) or [getattr(fsdp, "_fsdp_param_group", None)]
    return any(getattr(one, "reduce_grads", True) for one in found)


def _patch_deepspeed(engine: ModuleType) -> None:
    """Count DeepSpeed's forwards; between accumulation boundaries they synchronise nothing."""
    is_tracing = calls.is_tracing()
    function = engine.DeepSpeedEngine.forward

    def forward(self: Any, *inputs: Any, **kwargs: Any) -> Any:
        if is_tracing():
            return function(self, *inputs, **kwargs)
        try:
            training.count_forward(state.page, self.is_gradient_accumulation_boundary(), sys._getframe(1))
            return function(self, *inputs, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise

    engine.DeepSpeedEngine.forward = impersonate(forward, function)
