"""Python functions of a kernel's parameters, as expressions of kernel.json (docs/own_kernels.md).

The function is called with symbols in place of the values, and their operators write the text. Where Python asks whether a symbol is true, the
function is called again with either answer, and the two results become `condition ? yes : no`. So `and`, `in`, `min` and `if` need nothing more.
"""

from __future__ import annotations

import math
import operator
import threading
from fractions import Fraction
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

MOST_CALLS = 20_000  # of a function, one for each way through it
_answers = threading.local()  # .known: what the conditions met so far are, on the way through the function


class _Question(BaseException):
    """A condition whose answer is not known yet. No `except Exception` of the function may stop it."""


class Symbol:
    """A number that is known at tuning time: over / under, two texts. `under` is taken to be above 0, and both operands of // and % not below."""

    __array_ufunc__ = None  # so that NumPy's numbers leave the operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, over: str, under: str = "1") -> None:
        self.over, self.under = over, under

    def __bool__(self) -> bool:
        if self.over.isdigit():
            return int(self.over) != 0
        if self.over not in _answers.known:
            raise _Question(self.over)
        return bool(_answers.known[self.over])

    def __trunc__(self) -> Symbol:
        return self if self.under == "1" else Symbol(f"({self.over} / {self.under})")

    def __ceil__(self) -> Symbol:
        return self if self.under == "1" else Symbol(f"(({self.over} + {self.under} - 1) / {self.under})")

    __floor__ = __trunc__

    def __str__(self) -> str:
        return self.__trunc__().over

    def __neg__(self) -> Symbol:
        return Symbol(f"(-{self.over})", self.under)

    def __abs__(self) -> Any:
        return -self if self < 0 else self  # type: ignore[operator]

    def __pow__(self, exponent: Any) -> Any:
        return math.prod([self] * operator.index(exponent))


def symbol_of(value: Any) -> Optional[Symbol]:
    """None for what is no number."""
    if isinstance(value, Symbol):
        return value
    try:
        whole = operator.index(value)
    except TypeError:
        if not hasattr(value, "is_integer"):
            return None
        number = Fraction(repr(float(value)))  # 0.1 is 1 / 10
        return Symbol(_signed(number.numerator), str(number.denominator))
    return Symbol(_signed(whole))


def _signed(number: int) -> str:
    return str(number) if number >= 0 else f"({number})"


def _times(x: str, y: str) -> str:
    if x.isdigit() and y.isdigit():
        return str(int(x) * int(y))
    return y if x == "1" else x if y == "1" else f"({x} * {y})"


def _common(a: Symbol, b: Symbol) -> Tuple[str, str, str]:
    """The numerators over a common denominator, and this."""
    if a.under == b.under:
        return a.over, b.over, a.under
    return _times(a.over, b.under), _times(b.over, a.under), _times(a.under, b.under)


def _over_common(sign: str, is_comparison: bool = False) -> Callable[[Symbol, Symbol], Symbol]:
    def write(a: Symbol, b: Symbol) -> Symbol:
        x, y, under = _common(a, b)
        return Symbol(f"({x} {sign} {y})", "1" if is_comparison else under)
    return write


def _method(write: Callable[[Symbol, Symbol], Symbol], turned: bool = False) -> Callable[[Symbol, Any], Any]:
    def method(self: Symbol, other: Any) -> Any:
        found = symbol_of(other)
        return NotImplemented if found is None else write(found, self) if turned else write(self, found)
    return method


for _name, _write in {
        "add": _over_common("+"), "sub": _over_common("-"), "mod": _over_common("%"),
        "mul": lambda a, b: Symbol(_times(a.over, b.over), _times(a.under, b.under)),
        "truediv": lambda a, b: Symbol(_times(a.over, b.under), _times(a.under, b.over)),
        "floordiv": lambda a, b: (a / b).__trunc__()}.items():
    setattr(Symbol, f"__{_name}__", _method(_write))
    setattr(Symbol, f"__r{_name}__", _method(_write, turned=True))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(Symbol, f"__{_name}__", _method(_over_common(_sign, is_comparison=True)))


class Choice:
    """A parameter whose values are no integers: it can be compared with them, and kernel.json has the place of its value."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, index: str, values: List[Any]) -> None:
        self.index, self.values = index, values

    def __eq__(self, other: Any) -> Any:
        return Symbol(f"({self.index} == {self.values.index(other)})") if other in self.values else False


_Tree = Union[str, Tuple[str, Any, Any]]  # a text, or a condition with the trees of either answer


def trace(function: Callable[[], Any], what: str) -> str:
    """The expression of what the function returns. ValueError in one line if it cannot be one."""
    calls = [0]

    def explore(known: Dict[str, bool]) -> _Tree:
        calls[0] += 1
        if calls[0] > MOST_CALLS:
            raise ValueError("it has too many cases")
        _answers.known = known
        try:
            result = symbol_of(function())
        except _Question as question:
            condition = str(question)
            return _joined(condition, explore({**known, condition: True}), explore({**known, condition: False}))
        if result is None:
            raise TypeError("it is no number")
        return str(result)

    try:
        return _text(explore({}))
    except Exception as why:
        raise ValueError(f"{what}: {why}; expected whole numbers with + - * / // % **, comparisons, and, or, not, in, min and max") from None


def _joined(condition: str, yes: _Tree, no: _Tree) -> _Tree:
    if yes == no:
        return yes
    if isinstance(no, tuple) and yes in no[1:]:  # the answer `no` asks on, and one of its results is ours too
        asked, first, second = no
        return _joined(f"({condition} || {asked})", yes, second) if first == yes else _joined(f"(!{condition} && {asked})", first, yes)
    if isinstance(yes, tuple) and no in yes[1:]:
        asked, first, second = yes
        return _joined(f"({condition} && {asked})", first, no) if second == no else _joined(f"(!{condition} || {asked})", no, second)
    return (f"!{condition}", no, yes) if (yes, no) == ("0", "1") else (condition, yes, no)


def _text(tree: _Tree) -> str:
    if isinstance(tree, str):
        return tree
    condition, yes, no = tree
    return condition if (yes, no) == ("1", "0") else f"({condition} ? {_text(yes)} : {_text(no)})"
