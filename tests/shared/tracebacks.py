"""What an error tells a logger."""

import traceback
from pathlib import Path

import ldpstats as ldp


def shown(error: BaseException) -> str:
    """What a logger can write: messages, causes, and local variables of the package's frames."""
    package = Path(ldp.__file__).parent
    text: list[str] = []
    chain = [error]
    while chain:
        link = chain.pop()
        text += [str(link), repr(link), repr(vars(link))]
        chain += [e for e in (link.__cause__, link.__context__) if e is not None]
        for frame, _ in traceback.walk_tb(link.__traceback__):
            if package in Path(frame.f_code.co_filename).parents:
                text.append(f"{frame.f_code.co_name}: {frame.f_locals!r}")
    return "\n".join(text)
