"""The versions of one kind of file: a file of an earlier version is read by turning what it says
into what the next version says, one step after another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from taamctl.core.errors import TaamctlError

Said = TypeVar("Said")  # what is read of a file: a mapping of names to values


@dataclass(frozen=True)
class Versions(Generic[Said]):
    """One kind of file.

    Attributes:
        kind: its name, as the files state it.
        present: the version that this taamctl writes.
        steps: version n -> the pure function that turns what a file of version n says into what
            one of version n + 1 says. The smallest n is the earliest version that is read.
    """

    kind: str
    present: int
    steps: Mapping[int, Callable[[Said], Said]]

    @property
    def earliest(self) -> int:
        """Return the earliest version that is read."""
        return min(self.steps, default=self.present)

    def upgraded(self, said: Said, version: object, origin: str, again: str = "") -> Said:
        """Return what a file says in the words of the present version.

        Args:
            said: what the file says. version: the version that it states.
            origin: the file, for messages. again: how to make it again, such as `make it again
                with: taamctl split`; empty where it cannot be.

        Raises:
            TaamctlError: it is of a newer version, or of none that there ever was.
        """
        if not isinstance(version, int) or not self.earliest <= version <= self.present:
            raise self._refused(version, origin, again)
        for at in range(version, self.present):
            said = self.steps[at](said)
        return said

    def _refused(self, version: object, origin: str, again: str) -> TaamctlError:
        reads = f"version {self.present}"
        if self.earliest < self.present:
            reads = f"versions {self.earliest} to {self.present}"
        newer = isinstance(version, int) and version > self.present
        hints = (("install a newer taamctl",) if newer else ()) + ((again,) if again else ())
        return TaamctlError(
            f"{origin} has version {version} of {self.kind}, and this taamctl reads {reads}",
            ", or ".join(hints),
        )


def unchanged(said: Said) -> Said:
    """Return what a file says as it is: the step to a version that only says more."""
    return said
