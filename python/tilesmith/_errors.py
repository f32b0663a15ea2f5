"""What goes wrong, as exceptions of one line each."""

from __future__ import annotations

STATUS_NAMES = {
    1: "bad argument", 2: "bad database", 3: "no device", 4: "no kernel", 5: "misaligned", 6: "missing workspace",
    7: "device failed", 8: "out of memory", 9: "internal", 10: "not planned",
}
NOT_PLANNED = 10


class Error(RuntimeError):
    """What libtilesmith refused or could not do, or a part of it that is missing. `status` is the number of tilesmith.h, 0 if the library
    was not reached; `name` says it in words."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.name = STATUS_NAMES.get(status, "not reached" if status == 0 else f"status {status}")
