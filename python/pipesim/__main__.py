"""python -m pipesim: the program, from the library."""

from __future__ import annotations

import re
import sys

from ._library import PROGRESS, call
from .errors import Error


def main() -> int:
    """Prints what the command says; returns its exit status."""

    def tell(what: int, text: str) -> bool:
        if what != PROGRESS:
            sys.stdout.write(text)
        return True

    try:
        answer = call(sys.argv[1:], tell)
    except Error as error:
        # Errors of files begin with their place, so that editors jump there.
        print(error if re.match(r"[^ ]*:\d+:\d+: ", str(error)) else f"pipesim: {error}", file=sys.stderr)
        return error.status
    sys.stderr.write(answer.said)
    return answer.status


if __name__ == "__main__":
    sys.exit(main())
