"""The index of a file's names."""

from __future__ import annotations

import ast

from ddpdoctor.program import indexing
from ddpdoctor.program.modules import ClassInfo, FunctionInfo, Module


def index(text: str, path: str = "/job/package/main.py", name: str = "package.main") -> Module:
    return indexing.build(path, name, text, ast.parse(text))


def test_imports_by_their_local_names() -> None:
    text = "import a.b\nimport c.d as e\nfrom f import g, h as i\nfrom . import j\nfrom ..k import l\nfrom m import *"
    module = index(text, name="top.package.main")
    assert module.imports == {"a": "a", "e": "c.d", "g": "f.g", "i": "f.h", "j": "top.package.j", "l": "top.k.l"}
    assert module.stars == ["m"]


def test_a_package_imports_from_itself() -> None:
    assert index("from . import j", "/job/package/__init__.py", "package").imports == {"j": "package.j"}


def test_an_imported_name_is_known_by_where_it_comes_from() -> None:
    module = index("import torch.distributed as dist\ndist.all_reduce(x)")
    (call,) = module.of(ast.Call)
    assert module.imported(call.func) == "torch.distributed.all_reduce"
    assert module.imported(call.args[0]) == ""


def test_top_level_names_are_those_of_opened_blocks_too() -> None:
    module = index(
        "if x:\n    def f(): pass\nelse:\n    f = None\ntry:\n    class C: pass\nfinally:\n    a, b = 1, g()"
    )
    kinds = {name: [type(b.value) for b in bound] for name, bound in module.bindings.items()}
    assert kinds == {"f": [FunctionInfo, ast.Constant], "C": [ClassInfo], "a": [ast.Constant], "b": [ast.Call]}


def test_what_is_unpacked_is_known_by_its_part() -> None:
    bindings = index("a, b = f()").bindings
    assert [(bindings[name][0].part) for name in ("a", "b")] == [0, 1]


def test_names_inside_functions_are_not_the_files() -> None:
    module = index("def f():\n    x = 1\n    def g(): pass")
    assert list(module.bindings) == ["f"]
    assert [info.name for info in module.functions] == ["f"]


def test_a_class_knows_its_methods_constants_and_stores() -> None:
    module = index(
        "class C:\n    size = 3\n    def __init__(self):\n        self.x = 1\n    def f(me):\n        me.x = me.y = 2\n"
        "    @property\n    def p(self): ...\n    @p.setter\n    def p(self, value): ..."
    )
    (cls,) = module.classes
    assert list(cls.constants) == ["size"]
    assert {name: [m.name for m in methods] for name, methods in cls.stores.items()} == {
        "x": ["__init__", "f"], "y": ["f"],
    }  # fmt: skip
    assert len(cls.methods["p"].parameters) == 1, "the getter is the one that is read"


def test_a_named_tuple_is_a_class_with_its_fields() -> None:
    (bound,) = index("Place = namedtuple('Place', 'rank world')").bindings["Place"]
    assert isinstance(bound.value, ClassInfo)
    assert [node.target.id for node in bound.value.node.body] == ["rank", "world"]  # type: ignore[attr-defined]


def test_names_that_functions_assign_in_the_file() -> None:
    assert index("def f():\n    global a, b\n    a = 1").rebound == {"a", "b"}


def test_options_of_the_command_line() -> None:
    module = index("p.add_argument('--local-rank', dest='place')")
    assert list(module.options) == ["place"]


def test_what_is_released_holds_nothing() -> None:
    module = index("class C:\n    def f(self): pass")
    cls = module.classes[0]
    indexing.release(module)
    left = [module.nodes, module.kinds, module.bindings, module.functions, module.classes, cls.methods]
    assert not any(left)
