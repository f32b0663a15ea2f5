"""What the library makes and destroys: libraries and plans end in one way."""

from __future__ import annotations

from typing import Optional, TypeVar

from ._errors import Error

_Self = TypeVar("_Self", bound="Closing")


class Closing:
    """Something of the library's that is destroyed once: by close(), at the end of its `with`, or with the object itself.

    A subclass says what it is (`_kind`), sets `_handle` when the library has made it, and destroys it in _destroy().
    """

    _kind = "object"
    _handle: Optional[int] = None

    def close(self) -> None:
        """Destroys it. A second time does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._destroy(handle)

    def _destroy(self, handle: int) -> None:
        raise NotImplementedError

    @property
    def closed(self) -> bool:
        return self._handle is None

    @property
    def handle(self) -> int:
        """The library's pointer as a number. Raises Error once it is closed."""
        if self._handle is None:
            raise Error(f"the {self._kind} is closed; expected an open one")
        return self._handle

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
