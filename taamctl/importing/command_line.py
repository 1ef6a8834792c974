"""The command that brings a graph in again and leaves nothing to guess."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from taamctl.importing.messages import quoted
from taamctl.importing.options import LISTED, ImportOptions, one_listed

USUAL = asdict(ImportOptions())


def command(sources: Sequence[str], options: ImportOptions, further: Mapping[str, object]) -> str:
    """Return the command.

    Args:
        further: option -> its value, or true, of what `ImportOptions` does not hold.
    """
    words = ["taamctl", "data", "import", *map(quoted, sources)]
    for option, value in further.items():
        if value:
            words += [f"--{option}"] if value is True else [f"--{option}", quoted(str(value))]
    for name, value in asdict(options).items():
        if value != USUAL[name]:
            words += _words(name, value)
    return " ".join(words)


def _words(name: str, value: object) -> Iterator[str]:
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, tuple):
        for one in value:
            yield from (option, quoted(one_listed(one) if name in LISTED else one))
    elif value is True:
        yield option
    else:
        yield from (option, quoted(str(value)))
