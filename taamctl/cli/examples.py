"""One call of every verb, to copy from its help page."""

from __future__ import annotations

RUN = "--dataset debian --method taam --seed 1"

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": ("taamctl run", "taamctl docs first-run", "taamctl explain AF"),
    "run": (
        "taamctl run --dataset debian --method analytic --seed 1",
        "taamctl run --set train.lr=0.01 --dry-run",
    ),
    "split": ("taamctl split --dataset debian",),
    "precompute": ("taamctl precompute --dataset debian --max-memory 2G",),
    "train": (f"taamctl train {RUN}",),
    "infer": (
        f"taamctl infer {RUN} --set infer.router=auto",
        f"taamctl infer {RUN} --csv predictions.csv",
    ),
    "eval": (f"taamctl eval --lens {RUN}",),
    "lens": (f"taamctl lens {RUN}",),
    "report": ("taamctl report --all",),
    "plan": ("taamctl plan --dataset debian --method taam --max-memory 4G",),
    "predict": (
        "taamctl predict --bank model --graph data/arrivals.h5 --out answers.csv",
        "taamctl predict --bank model --watch arrivals",
        "taamctl predict --bank model --graph data/arrivals.h5 --sets 0.9 --json",
    ),
    "audit": ("taamctl audit --dataset debian --method taam",),
    "compare": (
        "taamctl compare --dataset debian --method taam --method analytic "
        "--order 1 --order 2 --split 1 --split 2 --split 3",
    ),
    "stream": (
        "taamctl stream --dataset drifting --method analytic --method finetune",
        "taamctl stream --dataset debian --method analytic --times random",
    ),
    "reproduce": ("taamctl reproduce main --dataset photo --seed 1 --seed 2 --seed 3",),
    "params": ("taamctl params > params.yaml",),
    "init": ("taamctl init shop --dataset shop --method analytic --seed 1",),
    "inspect": ("taamctl inspect outputs/precompute/debian/features.h5",),
    "doctor": ("taamctl doctor --report",),
    "docs": ("taamctl docs first-run", "taamctl docs --search memory"),
    "explain": ("taamctl explain AA", "taamctl explain train.lr", "taamctl explain analytic"),
    "clean": ("taamctl clean", "taamctl clean --yes"),
    "status": ("taamctl status --dataset debian --method taam",),
    "keys": ("taamctl keys",),
    "verify": ("taamctl verify", "taamctl verify --twice split --dataset debian"),
    "data": ("taamctl data import nodes.csv edges.csv --name shop",),
    "data list": ("taamctl data list",),
    "data info": ("taamctl data info photo",),
    "data fetch": ("taamctl data fetch photo",),
    "data example": ("taamctl data example shop",),
    "data import": ("taamctl data import nodes.csv edges.csv --name shop",),
    "data doctor": ("taamctl data doctor shop",),
    "data export": ("taamctl data export shop --format csv --out copies",),
    "data upgrade": ("taamctl data upgrade shop",),
    "methods": ("taamctl methods show taam",),
    "methods list": ("taamctl methods list",),
    "methods show": ("taamctl methods show taam",),
    "methods new": ("taamctl methods new my_method --into my_method",),
    "bank": (
        "taamctl bank create model --method linear_probe",
        "taamctl bank add-task model --graph data/shop.h5 --classes Books,Music",
    ),
    "bank create": ("taamctl bank create model --method linear_probe --seed 1",),
    "bank add-task": ("taamctl bank add-task model --graph data/shop.h5 --classes Books,Music",),
    "bank update": ("taamctl bank update model --graph data/shop.h5",),
    "bank forget": (
        "taamctl bank forget model --nodes gone.txt --graph data/shop.h5 --statement gone.json",
    ),
    "bank list": ("taamctl bank list model",),
    "bank verify": ("taamctl bank verify model",),
    "bank remove": ("taamctl bank remove model 1",),
    "bank rollback": ("taamctl bank rollback model --to 2",),
    "bank upgrade": ("taamctl bank upgrade model",),
    "bank export": ("taamctl bank export model model.tar",),
    "bank import": ("taamctl bank import model.tar copy",),
    "bank onnx": ("taamctl bank onnx model --into served",),
}
