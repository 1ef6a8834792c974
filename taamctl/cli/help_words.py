"""Words for an option or argument on a help page: how it is written, and what it means."""

from __future__ import annotations

import inspect
from pathlib import Path

# What stands for the value of an option, where the option does not say so itself. Where there are
# choices, all of them stand there.
WORDS = {
    "--dataset": "NAME",
    "--method": "NAME",
    "--seed": "N",
    "--profile": "release|text|strict_gcil",
    "--params": "FILE",
    "--outputs": "FOLDER",
    "--data-root": "FOLDER",
    "--workers": "N",
    "--statement": "FILE",
    "--before": "FILE",
    "--also": "FOLDER",
    "--nodes": "N",
    "--edges": "N",
    "--features": "N",
    "--classes": "N",
    "--labelled": "N",
    "--bank": "FOLDER",
    "--graph": "FILE",
    "--watch": "FOLDER",
    "--out": "FILE",
    "--snapshots": "N",
    "--every": "SPAN",
    "--times": "given|random",
    "--draw": "N",
    "--held": "SHARE",
    "--unknown": "SHARE",
    "--experts": "retrain|stay",
    "--old-rows": "shown|now",
    "--decide": "router|expert|soft",
    "--router": "auto|ridge|prototype",
    "--unit": "node|component|graph",
    "--scratch": "FOLDER",
    "--sets": "SHARE",
    "--explain": "NODE",
    "--scope": "all_seen|up_to_task|task_only|own",
    "--rows": "N",
    "--csv": "FILE",
    "--format": "FORMAT",
    "--name": "NAME",
    "--into": "FOLDER",
    "--tasks": "FILE",
    "--split": "FILE",
    "--class-names": "FILE",
    "--delimiter": "CHARACTER",
    "--decimal": ",",
    "--header": "yes|no",
    "--edge-header": "yes|no",
    "--ends": "rows|ids",
    "--nan": "refuse|zero",
    "--bad-edges": "refuse|drop",
    "--bad-rows": "refuse|drop",
    "--licence": "TEXT",
    "--citation": "TEXT",
    "--homepage": "URL",
    "--task-per": "N",
    "--to": "N",
    "--search": "WORD",
    "--tables": "latex|markdown",
    "--install-completion": "",
    "--show-completion": "",
}


def shape(param: object) -> str:
    """Return an option as it is written, with a word for its value: `--seed N`."""
    flags = list(getattr(param, "opts", ()))
    if is_option(param):
        flags += getattr(param, "secondary_opts", ())
        return f"{', '.join(flags)} {value_word(param)}".strip()
    name = getattr(param, "metavar", None) or str(getattr(param, "name", "")).upper()
    more = "..." * (getattr(param, "nargs", 1) != 1)
    return str(name).strip("[].") + more


def value_word(param: object) -> str:
    """Return the word for an option's value: its choices where it has some, nothing for a flag.

    Raises:
        KeyError: nobody has thought of a word.
    """
    if getattr(param, "is_flag", False):
        return ""
    return str(getattr(param, "metavar", None) or WORDS[getattr(param, "opts", [""])[0]])


def meaning(param: object) -> str:
    """Return what an option means, with its default."""
    text = inspect.cleandoc(str(getattr(param, "help", None) or ""))
    if is_option(param) and getattr(param, "required", False):
        return f"{text} Required."
    default = getattr(param, "default", None)
    plain = isinstance(default, (str, int, float, Path)) and not isinstance(default, bool)
    if plain and str(default) not in ("", ".") and getattr(param, "show_default", False):
        return f"{text} Default: {default}."
    return text


def is_option(param: object) -> bool:
    """Tell an option from an argument."""
    return getattr(param, "param_type_name", "") == "option"
