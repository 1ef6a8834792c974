"""`taamctl params`."""

from __future__ import annotations

from taamctl.core.errors import TaamctlError


def command() -> None:
    """Print the packaged parameter file, comments and all: `taamctl params > params.yaml` is
    where an own one starts.
    """
    from taamctl.params.params_file import PACKAGED

    try:
        text = PACKAGED.read_text(encoding="utf-8")
    except OSError as error:
        raise TaamctlError(
            f"cannot read {PACKAGED}: {error.strerror}", "install taamctl again"
        ) from None
    print(text, end="")
