"""Functions and objects that are handed over to be called later: hooks, handlers, callbacks."""

from __future__ import annotations

#: methods that are given a function, or an object with hooks: its position and its name (torch 2.13, pytorch-ignite
#: 0.5.5, transformers 5.23, detectron2 0.6)
ATTACHING = {
    "add_event_handler": (1, "handler"),
    "add_callback": (0, "callback"),
    "register_hook": (0, "hook"),
    "register_forward_hook": (0, "hook"),
    "register_forward_pre_hook": (0, "hook"),
    "register_full_backward_hook": (0, "hook"),
    "register_full_backward_pre_hook": (0, "hook"),
    "register_post_accumulate_grad_hook": (0, "hook"),
    "register_comm_hook": (1, "hook"),
}
#: methods of an engine whose result decorates a function that the engine calls later
DECORATING = frozenset({"on"})
#: methods by which a list gets what a loop later calls: the position of the element
LISTING = {"append": 0, "insert": 1, "add": 0}
