"""Parts of networks that an index, a slice or a loop chooses: `net.layers[n]`, `for layer in net.layers[:n]`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from enum import Enum

from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.facts.network_parts import Part, Parts
from ddpdoctor.lint.interpreter.events import Context, EnclosingLoop
from ddpdoctor.lint.values import symbols
from ddpdoctor.lint.values.abstract_objects import Items, Made
from ddpdoctor.lint.values.values import Symbol, Value, symbol_key
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import record

#: indices, loops and attributes from a network to what is chosen in it
_DEPTH = 12
#: methods whose elements are the parts of a network, and functions that give what they are given in a list
_LISTING_METHODS = ("children", "modules")
_LISTING = ("builtins.list", "builtins.tuple", "builtins.reversed")
_MODULE_LIST = "torch.nn.ModuleList"


class Choice(Enum):
    """How much of a container is chosen."""

    #: the container itself
    WHOLE = 0
    #: each of its elements, one after the other
    EACH = 1
    #: one of its elements, or several: it is not known which
    SOME = 2


class Chosen(NamedTuple):
    """What is chosen: of this part, so much."""

    part: Part
    choice: Choice
    #: the outermost of the loops that go through the elements
    loop: EnclosingLoop | None = None


@record(eq=False, slots=True)
class Chooser:
    """What is chosen in the networks of one file."""

    _parts: Parts
    _structures: Mapping[int, tuple[object, ...]]
    #: what a wrapper, a list and the like have in them, by their identity
    _held: Mapping[int, Value]
    #: the list that keeps what it was made of, by the identity of that
    _lists: Mapping[int, int]
    #: the list that keeps an object, and its place there, by the identity of the object
    _places: Mapping[int, tuple[int, str]]

    @classmethod
    def of(cls, facts: ModuleFacts, parts: Parts) -> Chooser:
        held: dict[int, Value] = {}
        for call in facts.named(*DDP_PATHS, *_LISTING):
            _hold(held, call.result, call.args[0] if call.args else None)
        for call in facts.methods(*_LISTING_METHODS):
            _hold(held, call.result, call.receiver)
        lists, places = _module_lists(facts)
        return cls(parts, symbols.structures(), held, lists, places)

    def chosen(self, value: Value, context: Context) -> Chosen | None:
        """What a value is of what something was chosen from; None if nothing was."""
        key = symbol_key(value)
        found = self._at(key, context.loops, _DEPTH) if key is not None else None
        if key is None or found is None or found.choice is not Choice.WHOLE:
            return found
        return found if found.part != self._parts.of_key(key) else None

    def _at(self, key: int, loops: tuple[EnclosingLoop, ...], depth: int) -> Chosen | None:
        if not depth:
            return None
        key = self._lists.get(key, key)
        held = self._held.get(key)
        inner = symbol_key(held) if held is not None else None
        if inner is not None:
            return self._at(inner, loops, depth - 1)
        if key in self._places:
            kept, name = self._places[key]
            return _inside(self._at(kept, loops, depth - 1), name)
        known = self._parts.of_key(key)
        structure = self._structures.get(key, ())
        if known is None:
            return None
        step = self._step(structure, loops, depth) if not known[1] and len(structure) > 1 else None
        return step if step is not None else Chosen(known, Choice.WHOLE)

    def _step(self, structure: tuple[object, ...], loops: tuple[EnclosingLoop, ...], depth: int) -> Chosen | None:
        """From what an unknown was made of to the unknown; None if it is not a part of anything."""
        word, of, *more = structure
        owner = _only(of)
        if word in ("element", "item"):
            return self._element(of, owner, loops, depth)
        outer = self._at(owner, loops, depth - 1) if owner is not None and word in _STEPS else None
        if outer is None or word in ("module", "part"):
            return outer
        return _inside(outer, _name(word, more[0] if more else None))

    def _element(self, of: object, owner: int | None, loops: tuple[EnclosingLoop, ...], depth: int) -> Chosen | None:
        """An element that one of these loops goes through."""
        loop = next((one for one in loops if _yields(one, of, owner)), None)
        over = symbol_key(loop.over) if loop is not None and loop.over is not None else owner
        outer = self._at(over, loops, depth - 1) if over is not None else None
        if outer is None or outer.choice is Choice.SOME:
            return outer
        return Chosen(outer.part, Choice.EACH, outer.loop or loop)


def _inside(outer: Chosen | None, name: str) -> Chosen | None:
    """What is in something under this name; something in it where that is "", or where it is not known what it is."""
    if outer is None or outer.choice is not Choice.WHOLE or not name:
        return outer._replace(choice=Choice.SOME) if outer is not None else None
    return outer._replace(part=(outer.part[0], (*outer.part[1], name)))


#: words of the structures of what is taken out of something
_STEPS = frozenset({"attribute", "module", "part", "subscript", "slice"})


def _name(word: object, more: object) -> str:
    """The name of an attribute, or of an element by its number or key; "" of an element of which that is not known."""
    if word == "attribute":
        return str(more)
    number = more[0] if word == "subscript" and isinstance(more, tuple) and len(more) == 1 else None
    return f"[{number}]" if isinstance(number, (int, str)) and not isinstance(number, bool) else ""


def _only(atoms: object) -> int | None:
    atom = atoms[0] if isinstance(atoms, tuple) and not isinstance(atoms, Symbol) and len(atoms) == 1 else None
    return atom.key if isinstance(atom, Symbol) else None


def _yields(loop: EnclosingLoop, of: object, owner: int | None) -> bool:
    """Whether it is the loop whose element this is: known by the loop, by what it goes through, or by `enumerate`."""
    if owner is not None:
        return loop.over is not None and symbol_key(loop.over) == owner
    node = loop.node
    if not isinstance(node, ast.For):
        return False
    place = (getattr(of, "line", 0), getattr(of, "column", 0), getattr(of, "file", ""))
    return of == id(node) or place == (node.iter.lineno, node.iter.col_offset + 1, loop.site.file)


def _hold(held: dict[int, Value], made: Value, inner: Value | None) -> None:
    key = symbol_key(made)
    if key is not None and inner is not None:
        held[key] = inner


def _module_lists(facts: ModuleFacts) -> tuple[dict[int, int], dict[int, tuple[int, str]]]:
    """Lists of modules by what they were made of, which a loop through one goes through; and what is where in them."""
    lists: dict[int, int] = {}
    places: dict[int, tuple[int, str]] = {}
    for value in facts.analysis.heap.values():
        made, key = value.object, symbol_key(value)
        if not isinstance(made, Made) or made.path != _MODULE_LIST or not made.args or key is None:
            continue
        given = symbol_key(made.args[0])
        lists.update({given: key} if given is not None else {})
        inside = made.args[0].object
        for number, item in enumerate(inside.items if isinstance(inside, Items) else ()):
            one = symbol_key(item)
            places.update({one: (key, f"[{number}]")} if one is not None else {})
    return lists, places
