"""Pickles of plain values, read opcode by opcode: nothing that a file names is imported."""

from __future__ import annotations

import codecs
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from meritnas.wording import shortened

MOST_STEPS = 2_000_000
"""Opcodes of a pickle, at most: eight times as many as the largest file of CIFAR's has."""

_MARK = object()
_CONSTANTS: Mapping[int, Callable[[], Any]] = {
    ord("N"): lambda: None,
    0x88: lambda: True,
    0x89: lambda: False,
    ord(")"): tuple,
    ord("]"): list,
    ord("}"): dict,
    ord("("): lambda: _MARK,
}
_NUMBERS = {ord("K"): "<B", ord("M"): "<H", ord("J"): "<i", ord("G"): ">d"}
_SIZED: Mapping[int, tuple[str, Callable[[bytes], Any]]] = {
    ord("U"): ("<B", bytes),
    ord("T"): ("<i", bytes),
    ord("C"): ("<B", bytes),
    ord("B"): ("<I", bytes),
    0x8E: ("<Q", bytes),
    0x96: ("<Q", bytes),
    0x8C: ("<B", bytes.decode),
    ord("X"): ("<I", bytes.decode),
    0x8D: ("<Q", bytes.decode),
    0x8A: ("<B", lambda content: int.from_bytes(content, "little", signed=True)),
    0x8B: ("<i", lambda content: int.from_bytes(content, "little", signed=True)),
}
_LINES: Mapping[int, Callable[[bytes], Any]] = {
    ord("I"): lambda line: line == b"01" if line in (b"00", b"01") else int(line),
    ord("L"): lambda line: int(line.removesuffix(b"L")),
    ord("F"): float,
    ord("S"): lambda line: _unquoted(line),
    ord("V"): lambda line: line.decode("raw-unicode-escape"),
}
_SKIPPED = {0x80: 1, 0x95: 8}
"""Protocol and frame say nothing that is not seen anyway."""
_TUPLES = {0x85: 1, 0x86: 2, 0x87: 3}
_PUT = {ord("q"): "<B", ord("r"): "<I"}
_GET = {ord("h"): "<B", ord("j"): "<I"}
_FOREIGN = {
    0x82: "for an extension",
    0x83: "for an extension",
    0x84: "for an extension",
    ord("P"): "for a persistent id",
    ord("Q"): "for a persistent id",
    ord("o"): "to run a constructor",
    0x81: "to run a constructor",
    0x92: "to run a constructor",
    0x97: "for a buffer from elsewhere",
    0x98: "for a buffer from elsewhere",
}


class ForeignError(Exception):
    """A pickle asks for what it must not have; the message is that."""


class StandIn(ABC):
    """What a known name makes in place of the object that a pickle asks for."""

    @abstractmethod
    def build(self, state: Any) -> None:
        """Take the state that a pickle gives the object."""


def read_plain_pickle(content: bytes, known: Mapping[str, Callable[..., Any]]) -> Any:
    """What a pickle holds: numbers, text, bytes, lists, tuples, dictionaries, and stand-ins.

    Python's own unpickler calls what a file asks for, and allocates as much as a file claims. Here
    only the functions in `known` are called, and no value is larger than what is in the file.
    Python 2's text comes as bytes. Keys of dictionaries are text or bytes.

    Args:
        content: the file's.
        known: full name -> what is called in its place.

    Raises:
        ForeignError: The pickle asks for something else.
        Exception: It is damaged; there are many ways to be that.
    """
    return _Machine(content, known).run()


class _Machine:
    """The stack machine that a pickle is a program for."""

    def __init__(self, content: bytes, known: Mapping[str, Callable[..., Any]]) -> None:
        self._content = content
        self._place = 0
        self._known = known
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._others: Mapping[int, Callable[[], None]] = {
            ord("t"): lambda: self._stack.append(tuple(self._since_mark())),
            ord("l"): lambda: self._stack.append(self._since_mark()),
            ord("d"): self._dictionary,
            ord("a"): lambda: self._extend([self._stack.pop()]),
            ord("e"): lambda: self._extend(self._since_mark()),
            ord("s"): lambda: self._update(self._last(2)),
            ord("u"): lambda: self._update(self._since_mark()),
            ord("p"): lambda: self._put(int(self._line())),
            0x94: lambda: self._put(len(self._memo)),
            ord("g"): lambda: self._stack.append(self._memo[int(self._line())]),
            ord("c"): lambda: self._name(self._line().decode(), self._line().decode()),
            0x93: lambda: self._name(*self._last(2)),
            ord("i"): lambda: self._instance(self._line().decode(), self._line().decode()),
            ord("R"): self._call,
            ord("b"): self._build,
        }

    def run(self) -> Any:
        """All opcodes up to the one that stops."""
        for _ in range(MOST_STEPS):
            code = self._take(1)[0]
            if code == ord("."):
                return self._stack.pop()
            self._step(code)
        raise ValueError(f"more than {MOST_STEPS:,} opcodes")

    def _step(self, code: int) -> None:
        if code in _CONSTANTS:
            self._stack.append(_CONSTANTS[code]())
        elif code in _NUMBERS:
            self._stack.append(self._number(_NUMBERS[code]))
        elif code in _SIZED:
            form, read = _SIZED[code]
            self._stack.append(read(self._take(self._number(form))))
        elif code in _LINES:
            self._stack.append(_LINES[code](self._line()))
        elif code in _TUPLES:
            self._stack.append(tuple(self._last(_TUPLES[code])))
        elif code in _PUT:
            self._put(self._number(_PUT[code]))
        elif code in _GET:
            self._stack.append(self._memo[self._number(_GET[code])])
        else:
            self._other_step(code)

    def _other_step(self, code: int) -> None:
        if code in _FOREIGN:
            raise ForeignError(_FOREIGN[code])
        if code in _SKIPPED:
            self._take(_SKIPPED[code])
        elif code in self._others:
            self._others[code]()
        else:
            raise ValueError(f"an opcode {bytes([code])!r}")

    def _take(self, size: int) -> bytes:
        """The next bytes; complains where there are not so many."""
        end = self._place + size
        if size < 0 or end > len(self._content):
            raise EOFError("it ends too early")
        found = self._content[self._place : end]
        self._place = end
        return found

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> bytes:
        end = self._content.index(b"\n", self._place)
        found = self._content[self._place : end]
        self._place = end + 1
        return found

    def _last(self, count: int) -> list[Any]:
        """The last values, which leave the stack."""
        found = self._stack[-count:]
        if len(found) < count or any(value is _MARK for value in found):
            raise IndexError("values are missing")
        del self._stack[-count:]
        return found

    def _since_mark(self) -> list[Any]:
        """The values after the last mark, which leave the stack with it."""
        place = len(self._stack) - 1
        while self._stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise IndexError("a mark is missing")
        found = self._stack[place + 1 :]
        del self._stack[place:]
        return found

    def _put(self, place: int) -> None:
        if not 0 <= place <= MOST_STEPS:
            raise ValueError(f"{place} as the number of a value")
        self._memo[place] = self._stack[-1]

    def _dictionary(self) -> None:
        found = self._since_mark()
        self._stack.append({})
        self._update(found)

    def _extend(self, values: list[Any]) -> None:
        self._top(list).extend(values)

    def _update(self, pairs: list[Any]) -> None:
        found = self._top(dict)
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            # Hashes of tuples and of chosen numbers can be made to take forever.
            if not isinstance(key, str | bytes):
                raise ValueError(f"a key of type {type(key).__name__}")
            found[key] = value

    def _top(self, kind: type[Any]) -> Any:
        if not isinstance(self._stack[-1], kind):
            raise ValueError(f"no {kind.__name__} where one is needed")
        return self._stack[-1]

    def _name(self, module: str | bytes, name: str | bytes) -> None:
        parts = [part.decode() if isinstance(part, bytes) else part for part in (module, name)]
        asked = ".".join(parts)
        if asked not in self._known:
            raise ForeignError(f"to run {shortened(asked)}")
        self._stack.append(self._known[asked])

    def _instance(self, module: str, name: str) -> None:
        raise ForeignError(f"to run {shortened(f'{module}.{name}')}")

    def _call(self) -> None:
        called, given = self._last(2)
        if not isinstance(given, tuple) or called not in self._known.values():
            raise ForeignError(f"to run a {type(called).__name__}")
        self._stack.append(called(*given))

    def _build(self) -> None:
        state = self._stack.pop()
        if not isinstance(self._stack[-1], StandIn):
            raise ForeignError(f"for the state of a {type(self._stack[-1]).__name__}")
        self._stack[-1].build(state)


def _unquoted(line: bytes) -> bytes:
    """Text as Python 2 writes it in its first protocol."""
    if len(line) < 2 or line[0] != line[-1] or line[0] not in b"\"'":
        raise ValueError("text without quotation marks")
    return codecs.escape_decode(line[1:-1])[0]
