"""python -m tilesmith: what is here, and in one line what is missing. With arguments: the program `tilesmith`."""

from __future__ import annotations

import sys

from . import __version__, _abi, _program, program
from ._errors import Error
from ._library import Library


def main() -> int:
    print(f"tilesmith {__version__}")
    try:
        _abi.load()
        print(f"library   {_abi.library_file()}")
        print(f"program   {program()}")
        with Library.open_default() as library:
            print(f"device    {library.device}\ndatabase  {library.path or 'none: kernels are predicted'}")
    except Error as why:
        print(f"missing   {why}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _program.main()
    sys.exit(main())
