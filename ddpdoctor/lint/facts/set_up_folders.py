"""Folders that a framework has made on every rank when it set the program up."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import blocks, paths
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk


def made_before(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a call makes the folder that a setting names, in which every rank has begun its log before:
    `default_setup(cfg, args)`, and then `os.mkdir(cfg.OUTPUT_DIR)`."""
    settings = {setting for path, setting in frameworks.SET_UP_FOLDERS.items() if facts.named(path)}
    return bool(settings) and _setting_of(facts, call) in settings


def _setting_of(facts: ModuleFacts, call: CallEvent) -> str:
    """The setting that a path is: `OUTPUT_DIR` of `cfg.OUTPUT_DIR`, of `cfg["OUTPUT_DIR"]` and of a variable that is
    assigned it; "" if it is none."""
    _, node = paths.path_of(call)
    module = blocks.module_of(facts, call.site)
    if isinstance(node, ast.Name) and module is not None:
        scope = innermost_function(module.tree, call.site.line) or module.tree
        stored = (n.value for n in walk(scope) if isinstance(n, ast.Assign) and last_name(n.targets[0]) == node.id)
        node = next(stored, None)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.attr if isinstance(node, ast.Attribute) else ""
