"""The words of a report, each in a sentence."""

from __future__ import annotations

WORDS = {
    "task": "Classes that arrive together. Tasks arrive one after another; what is learned of one "
    "is kept or forgotten when the next is learned.",
    "AA": "Average accuracy: the mean over tasks of the accuracy on the task's test nodes, after "
    "the last task was learned.",
    "AF": "Average forgetting: how many points of accuracy a task has lost, on average, between "
    "the moment it was learned and the end. Below 0, it has gained. BWT, backward transfer, is "
    "-AF.",
    "grouped, mixed": "Grouped: a graph to be answered holds nodes of one task only. Mixed: one "
    "graph holds the nodes of all tasks, and nobody tells which is whose.",
    "prequential": "Answers come before labels, snapshot after snapshot, in one graph that holds "
    "its past. A protocol of its own: its numbers compare with no grouped and no mixed one.",
    "scope": "The classes that an answer is chosen from. all_seen: all classes so far. up_to_task: "
    "up to the last class of the node's task. task_only: the classes of its task. Numbers of two "
    "scopes are no ranking.",
    "task-ID": "Which task a graph or node belongs to. Inferred: the method decides. Given: it is "
    "told, which makes it a reference and no competitor. None: it needs none.",
    "AMP": "A multi-hop profile: the mean, over the nodes of a graph, of their features and of "
    "those of their neighbourhoods, by which tasks are told apart.",
    "router": "What decides on the task. amp: the nearest AMP profile. ridge: a regression over "
    "all classes, solved in closed form. class, gaussian: from class means. soft: several tasks' "
    "models, weighted. smoothed: decisions averaged over edges.",
    "seed": "Number that all random choices of a training follow from. ± is the population "
    "standard deviation over seeds.",
    "95 % interval": "What the number of test nodes leaves open: other nodes of the same classes "
    "would give a number in it 95 times of 100. It says nothing of other seeds.",
    "cost M": "Millions of float32 numbers that a method keeps beside its backbone.",
}
