"""Whether anything in a project uses a function, class or method of it: by its name, in all files. Pure.

What uses it has to be used itself: a class that only an unused function makes is unused. The search goes from a
definition to those that name it, and ends at the first statement of a module that is no definition.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Set

from ddpdoctor.lint.deferred.project_folder import IS_PROGRAM
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import source
from ddpdoctor.program.enclosing import is_of_program
from ddpdoctor.program.nodes import decorator_name, dotted, last_name, walk

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
#: parts that are asked about for one line: of what has more users than that, something uses one
MOST_ASKED = 500
#: through how many files a name is followed that each imports from the next
_MOST_IMPORTS = 4
#: what packages export, by its names
_EXPORTS = "__all__"
#: bases of which nothing calls a method of its own accord, but the language and what has a name here
_PLAIN_BASES = frozenset({"object", "ABC", "Module", "Generic", "Protocol"})
_CALLED_BY_BASES = frozenset({"forward", "extra_repr", "train", "eval", "to", "cuda", "state_dict", "load_state_dict"})
#: decorators of methods that hand them to nobody else
_PLAIN_DECORATORS = frozenset({
    "staticmethod", "classmethod", "property", "no_grad", "inference_mode", "override", "abstractmethod",
})  # fmt: skip


class _Part(NamedTuple):
    """A statement of a module or, of its classes, a method; a class stands for what it has beside its methods."""

    file: str
    node: ast.stmt
    owner: ast.ClassDef | None = None

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, _DEFINITIONS) else ""


class Uses:
    """The uses of names in some files, each file parsed once."""

    def __init__(
        self,
        texts: Mapping[str, bytes],
        named_elsewhere: Callable[[str, str], bool] = lambda *_: False,
        is_started: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`texts`: what the files contain, by their paths; `named_elsewhere`: whether something else uses a function or
        class of this file and this name; `is_started`: whether something may start a file as a program."""
        self._texts = texts
        self._named_elsewhere = named_elsewhere
        self._is_started = is_started
        self._trees: dict[str, ast.Module | None] = {}
        #: parts of which it is known that something uses them
        self._used: set[_Part] = set()
        #: how many parts may still be asked about
        self._left = 0

    def unused_at(self, path: str, line: int) -> str:
        """The name of the function, class or method of the file around a line, if nothing uses it; "" if something
        does, or may by its decorator or its place in the language."""
        self._left = MOST_ASKED
        tree = self._tree(path)
        parts = _parts(path, tree) if tree is not None else ()
        around = [part for part in parts if part.name and part.node.lineno <= line <= (part.node.end_lineno or 0)]
        if not around or self._is_used(around[-1], frozenset()):
            return ""
        owner = around[-1].owner
        unused = owner is not None and not self._is_used(_Part(path, owner), frozenset())
        return owner.name if owner is not None and unused else around[-1].name

    def _is_used(self, part: _Part, asked: Set[_Part]) -> bool:
        """`asked`: the parts whose use depends on that of this one."""
        if part in asked:
            return False
        self._left -= 1
        if part not in self._used and (self._left < 0 or self._finds_use(part, {*asked, part})):
            self._used.add(part)
        return part in self._used

    def _finds_use(self, part: _Part, asked: Set[_Part]) -> bool:
        if part.owner is not None:
            called = self._is_used(_Part(part.file, part.owner), asked)
            return called and (self._is_called_by_base(part.node, part.owner) or self._is_named(part, asked))
        if not isinstance(part.node, _DEFINITIONS):
            return not is_of_program(part.node) or self._is_started(part.file)
        if part.node.decorator_list:
            return True
        return self._named_elsewhere(part.file, part.name) or self._is_named(part, asked)

    def _is_named(self, definition: _Part, asked: Set[_Part]) -> bool:
        """Whether something that is used itself names a definition."""
        name = definition.name.encode()
        files = [file for file, text in self._texts.items() if name in text]
        return any(self._is_named_in(file, definition, asked) for file in files)

    def _is_named_in(self, file: str, definition: _Part, asked: Set[_Part]) -> bool:
        tree, name = self._tree(file), definition.name
        if tree is None:
            return True
        apart = definition.owner is None and file != definition.file
        if apart and self._means_another(tree, name, definition.file):
            return False
        # `utils.save` may be what `from bits import save` is not
        as_member = any(isinstance(node, ast.Attribute) and node.attr == name for node in walk(tree))
        if apart and not as_member and self._leads_elsewhere(file, definition):
            return False
        naming = [part for part in _parts(file, tree) if part.node is not definition.node and _uses(part, name)]
        if definition.owner is not None:
            modules = _imported(tree)
            naming = [part for part in naming if _has_member(part, name, modules)]
        else:
            bound = _bound_by_imports(tree)
            # by a text alone, only what names its module finds a function of a program
            module = _stem(definition.file).encode()
            texts = not apart or not self._is_program(definition.file) or module in self._texts[file]
            naming = [part for part in naming if _has_function(part, name, bound, texts=texts)]
        return any(self._is_used(part, asked) for part in naming)

    def _is_called_by_base(self, method: ast.stmt, owner: ast.ClassDef) -> bool:
        """Whether the language, a decorator, or a base class that is not of these files may call a method."""
        if not isinstance(method, _FUNCTIONS):
            return True
        handed_on = any(decorator_name(one) not in _PLAIN_DECORATORS for one in method.decorator_list)
        named = method.name.startswith("__") or method.name in _CALLED_BY_BASES
        return handed_on or named or self._has_other_base(owner, frozenset())

    def _has_other_base(self, owner: ast.ClassDef, seen: Set[str]) -> bool:
        """Whether a class has a base, itself or by one of its bases, of which nothing is known here."""
        for name in map(last_name, owner.bases):
            if name in _PLAIN_BASES or name in seen:
                continue
            bases = [node for tree in self._defining(name) for node in tree.body
                     if isinstance(node, ast.ClassDef) and node.name == name]  # fmt: skip
            if not bases or any(self._has_other_base(base, {*seen, name}) for base in bases):
                return True
        return False

    def _defining(self, name: str) -> Iterator[ast.Module]:
        """The files that define a class of this name at their top."""
        defined = re.compile(rb"^class[ \t]+" + re.escape(name.encode()) + rb"\b", re.MULTILINE)
        trees = (self._tree(file) for file, text in self._texts.items() if defined.search(text))
        yield from (tree for tree in trees if tree is not None)

    def _means_another(self, tree: ast.Module, name: str, path: str) -> bool:
        """Whether a name of a file is that of another definition: its own, or one that it imports from a module which
        has one, too."""
        if _defines(tree, name):
            return True
        named = (node for node in tree.body if isinstance(node, ast.ImportFrom))
        modules = {(node.module or "").rpartition(".")[2] for node in named if any(a.name == name for a in node.names)}
        others = {_stem(file) for file, text in self._texts.items() if file != path and name.encode() in text
                  and (other := self._tree(file)) is not None and _defines(other, name)}  # fmt: skip
        return bool(modules) and _stem(path) not in modules and modules <= others

    def _leads_elsewhere(self, file: str, definition: _Part, most: int = _MOST_IMPORTS) -> bool:
        """Whether a file imports the name from what has it of another file, in the end: of a package, what that
        imports; and all names of none that may have it of this one."""
        named, every = self._importing(file, definition.name)
        another = [self._has_another(home, definition, most - 1) for home in named or every] if most else []
        if not (all(another) if named else any(another)):
            return False
        return bool(another) and not any(self._may_give(home, definition, most) for home in every)

    def _has_another(self, file: str, definition: _Part, most: int) -> bool:
        tree = self._tree(file)
        if tree is None or file == definition.file:
            return False
        return _defines(tree, definition.name) or self._leads_elsewhere(file, definition, most)

    def _may_give(self, file: str, definition: _Part, most: int) -> bool:
        """Whether a file has the definition itself, or may import it."""
        if file == definition.file or not most:
            return True
        named, every = self._importing(file, definition.name)
        return any(self._may_give(home, definition, most - 1) for home in (*named, *every))

    def _importing(self, file: str, name: str) -> tuple[list[str], list[str]]:
        """The files of which one may import a name, and those of which it imports all."""
        tree = self._tree(file)
        found: dict[str, list[str]] = {name: [], "*": []}
        for node in tree.body if tree is not None else ():
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                if isinstance(node, ast.ImportFrom) and alias.name in found:
                    found[alias.name] += self._homes(node, file)
        return found[name], found["*"]

    def _homes(self, statement: ast.ImportFrom, file: str) -> list[str]:
        """The files of which an import may take something; of an absolute one, all that its name may mean."""
        module = (statement.module or "").replace(".", "/")
        ends = (f"{module}.py", f"{module}/__init__.py")
        if not statement.level:
            return [path for path in self._texts if path.endswith(tuple(f"/{end}" for end in ends))]
        folder = posixpath.dirname(file)
        for _ in range(statement.level - 1):
            folder = posixpath.dirname(folder)
        return [path for end in ends if (path := posixpath.normpath(f"{folder}/{end}")) in self._texts]

    def _is_program(self, path: str) -> bool:
        return IS_PROGRAM.search(self._texts.get(path, b"")) is not None

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            self._trees[path] = source.tree_of(self._texts.get(path, b""))
        return self._trees[path]


def _parts(file: str, tree: ast.Module) -> Iterator[_Part]:
    """The statements of a module, and after each class its methods."""
    for statement in tree.body:
        yield _Part(file, statement)
        if isinstance(statement, ast.ClassDef):
            yield from (_Part(file, node, statement) for node in statement.body if isinstance(node, _FUNCTIONS))


def _uses(part: _Part, name: str) -> bool:
    """Whether a part of a file uses the name, other than to define, import or export it."""
    statement = part.node
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return any(alias.name == name and alias.asname not in (None, name) for alias in statement.names)
    if _exports(statement):
        return False
    if isinstance(statement, ast.ClassDef):
        apart = [node for node in statement.body if not isinstance(node, _FUNCTIONS)]
        given = [keyword.value for keyword in statement.keywords]
        return any(_names(node, name) for n in (*statement.bases, *given, *apart) for node in walk(n))
    return any(_names(node, name) for node in walk(statement))


def _has_member(part: _Part, name: str, modules: Set[str]) -> bool:
    """Whether a part names a member of an object, which no module is, or has the name in a string."""
    return any(
        isinstance(node, ast.Constant) or (isinstance(node, ast.Attribute) and last_name(node.value) not in modules)
        for node in walk(part.node)
        if _names(node, name)
    )


def _has_function(part: _Part, name: str, bound: Set[str], *, texts: bool) -> bool:
    """Whether a part names a function or class other than as a member of what no import has bound: `net.train()`;
    `texts`: by a string as well."""
    if isinstance(part.node, (ast.Import, ast.ImportFrom)):
        return True
    naming = (node for node in walk(part.node) if _names(node, name))
    return any(
        not bound.isdisjoint(dotted(node)[:1])
        if isinstance(node, ast.Attribute)
        else texts or not isinstance(node, ast.Constant)
        for node in naming
    )


def _bound_by_imports(tree: ast.Module) -> frozenset[str]:
    """The names that imports bind anywhere in a file."""
    imports = (node for node in walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)))
    return frozenset(alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names)


def _imported(tree: ast.Module) -> frozenset[str]:
    """The names of modules as a file imports them: `torch`, `np`."""
    aliases = (alias for node in tree.body if isinstance(node, ast.Import) for alias in node.names)
    return frozenset(alias.asname or alias.name.partition(".")[0] for alias in aliases)


def _defines(tree: ast.Module, name: str) -> bool:
    return any(isinstance(part, _DEFINITIONS) and part.name == name for part in tree.body)


def _stem(path: str) -> str:
    return posixpath.basename(path).removesuffix(".py")


def _exports(part: ast.stmt) -> bool:
    return any(last_name(target) == _EXPORTS for target in _targets(part))


def _targets(part: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(part, ast.Assign):
        yield from part.targets
    elif isinstance(part, (ast.AnnAssign, ast.AugAssign)):
        yield part.target


def _names(node: ast.AST, name: str) -> bool:
    """Whether it is the name, as an attribute too, or a string by which something may be looked up."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.rpartition(".")[2].rpartition(":")[2] == name
    return isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) == name
