"""From a graph of unsorted nodes to answers: route, ask the tasks' own models where that is
wanted, and say where nothing fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from taamctl.bank import context, explain_node, feature_names, sureness, task_file
from taamctl.bank.answers import Answers
from taamctl.bank.feature_names import Reordered
from taamctl.bank.graph_source import Query
from taamctl.bank.hops import Hops, open_hops, row_block
from taamctl.bank.open_bank import HopRows, OpenBank
from taamctl.bank.predict_options import PredictOptions
from taamctl.bank.prototype import Prototypes, require_prototypes
from taamctl.bank.routed import Routed
from taamctl.bank.router import around, thresholds
from taamctl.bank.signs import over_edges
from taamctl.bank.stand_ins import StandIns
from taamctl.bank.surplus import Surplus
from taamctl.bank.unlike import Unlike
from taamctl.core.errors import TaamctlError
from taamctl.core.memory import used
from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import to_scipy
from taamctl.learning.routing import query_units
from taamctl.propagation.operator import Operator, build
from taamctl.stream.induce import message_edges

if TYPE_CHECKING:
    from taamctl.learning.contract.method import Method

# share of nodes that disagree with their unit's task from which on a graph is called mixed
MIXED = 0.2


class Predictor:
    """Answer graphs with one bank and one set of options; everything runs on the CPU in float32."""

    def __init__(self, bank: OpenBank, options: PredictOptions) -> None:
        self._bank = bank
        self._options = options
        self._bounds = bank.manifest.bounds
        torch.set_num_threads(bank.config.train.threads)
        self._router = bank.router
        self._temperature = bank.config.bank.temperature
        if self._router.honest is not None:
            self._temperature = self._router.honest.temperature
        bank.config.require_experts(options.decide)
        self._require_kept()
        self._shared = bank.shared
        self._unlike = Unlike(self._router, self._shared.lift, bank.config.bank.router.hops)
        tasks = [bank.task(position) for position in range(len(self._bounds))]
        self._sure = sureness.measured(tasks, bank.config, self._router)
        self._by, self._metric = self._routing()
        self._experts: dict[int, Method] = {}

    def _routing(self) -> tuple[str, str]:
        """Return the router, and the metric of its prototypes. `auto` is the regression, and for
        units of many nodes what validation is most sure of, where prototypes can decide.
        """
        usual = self._bank.config.infer.routed(("amp", "cosine")).metric
        asked = self._options.router
        if asked == "prototype":
            require_prototypes(self._bank)
        if asked != "auto":
            return asked, usual
        if self._options.unit == "node" or self._options.decide == "router":
            return "ridge", usual
        return self._sure.graph_router(usual)

    def _require_kept(self) -> None:
        """Refuse sets where no or too few validation nodes were kept."""
        if self._options.sets and self._router.honest is None:
            raise TaamctlError(
                "the bank keeps no or too few validation nodes, from which sets are made (--sets)",
                "make a bank that does: taamctl bank create DIR --set bank.val_rows=512, of "
                "classes with at least 9 validation nodes together",
            )

    def _doubts(self) -> tuple[str, ...]:
        """Return what speaks against the tasks that are chosen, as validation has it."""
        numbers = [task.number for task in self._bank.manifest.tasks]
        said = sureness.warning(self._sure, self._by, self._metric, self._options.unit, numbers)
        return (said,) if said else ()

    def answer(self, query: Query) -> Answers:
        """Return the answers for a whole graph, but for the nodes that are neighbours only.

        Raises:
            TaamctlError: the features are not the bank's, by name or by number, or the memory limit
                is too low.
        """
        held = used()
        config = self._bank.config
        manifest = self._bank.manifest
        learned = self._shared.feature_names
        unchecked = feature_names.unchecked(learned, query.feature_names, query.before_names)
        query = self._in_the_banks_order(query)
        names, asked, why = query.names(), None, None
        if self._options.explain is not None:
            asked = explain_node.row_of(self._options.explain, names, query.answered)
        edges = message_edges(query.adjacency(), config.split.symmetrize, query.directed)
        operator = build(edges, config.precompute.self_loops)
        assert manifest.feature_norm is not None
        with open_hops(
            query,
            self._shared.norm(manifest.feature_norm),
            operator,
            self.hops_wanted(),
            config.precompute.backend,
            self._options.limit,
            self._options.scratch,
            per_node=self._per_node(),
            fixed=self._unlike.room(1),
        ) as hops:
            n = len(operator.degree)
            told = self._unlike.surplus(hops, np.zeros(n, np.int64), self._blocks(n))
            every = self.node_by_node(hops, n, told=told)
            routed, notes = self._route(every, hops, operator, query.answered)
            label, confidence = self.decide(hops, operator.degree, routed)
            if asked is not None:
                why = self._why(asked, hops)
        unknown = self._unknown(routed, every.label(), edges, held)
        owner = np.array([t.number for t in manifest.tasks])[self._router.owner]
        found = Answers(
            np.arange(len(label)) if names is None else names,
            label,
            manifest.classes,
            owner[label],
            confidence,
            routed.novelty,
            unknown,
            tuple(filter(None, (unchecked, context.unused(query.outside()), *notes)))
            + self._doubts(),
            self._sets(routed.probabilities),
            routed.probabilities,
            self._temperature / config.bank.temperature,
            tuple(owner.tolist()),
        )
        if asked is None or why is None:
            return found
        near = to_scipy(operator.adjacency)[asked].indices
        return replace(found, explanation=explain_node.explained(found, asked, why, near))

    def _why(self, row: int, hops: Hops) -> explain_node.Why:
        """Look at one node."""
        weights = self._bank.config.bank.router.hops
        rows = {j: torch.from_numpy(hops.rows(j, row, row + 1)) for j in weights}
        sums = [self._bank.task(t).sums() for t in range(len(self._bounds))]
        means = torch.cat([each.cross for each in sums], 1)
        return explain_node.why(
            rows, weights, self._shared.lift, self._router, self._temperature, means
        )

    def _per_node(self) -> int:
        """Return the bytes that the answers need per node."""
        wanted = self._options.probabilities or bool(self._options.sets)
        return 12 * len(self._bounds) + 88 + wanted * 5 * len(self._router.owner)

    def _in_the_banks_order(self, query: Query) -> Query:
        """Return the graph with its features as the bank has them."""
        order = feature_names.order_of(self._shared.feature_names, query.feature_names, "the graph")
        if order is not None:
            query = Reordered(query, order)
        expected = self._bank.manifest.num_features
        if query.num_features != expected:
            raise TaamctlError(
                f"the graph has {query.num_features} features per node, the bank was made for "
                f"{expected}",
                "give every node the features that the bank was made with, in the same order",
            )
        return query

    def hops_wanted(self) -> set[int]:
        """Return the j of the hop features S^j X that answers are made of."""
        config = self._bank.config
        wanted = {*config.bank.router.hops}
        if self._options.decide != "router":
            wanted.add(config.precompute.hops)
        if self._by == "prototype":
            wanted |= set(range(max(config.infer.hops) + 1))
        return wanted

    def unknown(self, routed: Routed) -> Array:
        """Return [N] bool: which nodes look like no class, by their tasks' validation nodes."""
        n = len(routed.novelty)
        tables = [self._bank.task(t).quantiles for t in range(len(self._bounds))]
        best = routed.best[np.arange(n), routed.posterior.argmax(1)]
        limits = thresholds(tables, self._options.unknown)[self._router.owner[best]]
        return np.asarray(routed.novelty > limits)

    def _sets(self, probabilities: Array | None) -> Array | None:
        """Return which classes belong to a node's set, [N, C] bool, where it was asked."""
        honest = self._router.honest
        if not self._options.sets or honest is None or probabilities is None:
            return None
        return honest.sets(probabilities, self._options.sets)

    def _unknown(self, routed: Routed, every: Array, edges: CSR, held: int) -> Array:
        """Return [N] bool: which nodes look like no class of the bank.

        Args:
            every: [N + context] likeliest class. edges: between all of them.
            held: bytes that were in use before the graph was looked at.
        """
        n = len(routed.novelty)
        if not self._options.unknown or not n:
            return np.zeros(n, bool)
        if self._router.honest is not None:
            usual = self._stand_ins(every, edges, held)
            limit = self._router.honest.limit(self._options.unknown, usual)
            return np.asarray(routed.novelty > limit)
        return self.unknown(routed)

    def _stand_ins(self, every: Array, edges: CSR, held: int) -> Array:
        """Return how unlike known ones validation nodes look in the place of a graph's nodes,
        [copies, N].
        """
        config = self._bank.config
        tasks = [self._bank.task(t) for t in range(len(self._bounds))]
        query = StandIns(tasks, [low for low, _ in self._bounds], edges, every)
        operator = build(query.adjacency(), config.precompute.self_loops)
        with open_hops(
            query,
            "none",
            operator,
            config.bank.router.hops,
            config.precompute.backend,
            self._options.limit,
            self._options.scratch,
            per_node=12 * len(self._bounds) + 88,
            fixed=self._unlike.room(int(query.copy[-1]) + 1),
            held=held,
        ) as hops:
            n = query.num_nodes
            told = self._unlike.surplus(hops, query.copy, self._blocks(n, 4))
            novelty = self.node_by_node(hops, n, 4, told).novelty
            return self._over_edges(novelty, operator).reshape(-1, len(every))

    def _over_edges(self, novelty: Array, operator: Operator) -> Array:
        if self._router.honest is None:
            return around(novelty, operator)
        return over_edges(novelty, operator.adjacency)

    def _blocks(self, n: int, parts: int = 1) -> Iterator[tuple[int, int]]:
        size = row_block(self._shared.probe.shape[1]) // parts
        yield from ((low, min(n, low + size)) for low in range(0, n, size))

    def _units(self, operator: Operator, n: int) -> Array:
        """Return the unit of every one of the first n nodes, [n] int64 in 0..U-1."""
        if self._options.unit == "component":
            unit = query_units.assign(query_units.Unit("component"), operator.scipy(np.float32), 0)
            return unit if n == len(unit) else np.unique(unit[:n], return_inverse=True)[1]
        return np.zeros(n, np.int64) if self._options.unit == "graph" else np.arange(n)

    def _route(
        self, routed: Routed, hops: Hops, operator: Operator, n: int
    ) -> tuple[Routed, tuple[str, ...]]:
        """Return what the router says of the first n nodes, after their units were averaged.

        Args:
            routed: what it says of every node alone.
        """
        if not n:
            return routed.first(0), ()
        routed = replace(routed, novelty=self._over_edges(routed.novelty, operator)).first(n)
        unit = self._units(operator, n)
        if self._by == "prototype":
            return replace(routed, posterior=self._by_prototypes(hops, unit)), ()
        if self._options.unit == "node":
            return routed, ()
        mean = query_units.means(np.log(np.maximum(routed.posterior, 1e-30)), unit)
        whole = np.exp(mean - mean.max(1, keepdims=True))
        posterior = (whole / whole.sum(1, keepdims=True))[unit].astype(np.float32)
        apart = float((routed.posterior.argmax(1) != posterior.argmax(1)).mean())
        notes: tuple[str, ...] = ()
        if apart > MIXED:
            notes = (
                f"{100 * apart:.0f} % of the nodes look like another task than their "
                f"{self._options.unit} as a whole: it seems to mix tasks, which --unit node "
                "tells apart",
            )
        return replace(routed, posterior=posterior), notes

    def node_by_node(
        self, hops: HopRows, n: int, parts: int = 1, told: Surplus | None = None
    ) -> Routed:
        """Return what the router says of each of n nodes alone.

        Args:
            parts: of a row block, each looked at by itself to spare memory.
            told: by the graph that they are of.
        """
        t = len(self._bounds)
        posterior = np.empty((n, t), np.float32)
        inside = np.empty((n, t), np.float32)
        best = np.empty((n, t), np.int32)
        novelty = np.empty(n)
        probabilities = None
        if self._options.probabilities or self._options.sets:
            probabilities = np.empty((n, len(self._router.owner)), np.float32)
        for low, high in self._blocks(n, parts):
            profiles = self._unlike.profiles(hops, low, high)
            scores = self._router.scores(profiles)
            novelty[low:high] = self._unlike.of(profiles, scores, told, low)
            p = torch.softmax(self._temperature * scores, 1).numpy()
            if probabilities is not None:
                probabilities[low:high] = p
            for k, (first, last) in enumerate(self._bounds):
                own = p[:, first:last]
                mass = own.sum(1)
                at = own.argmax(1)
                posterior[low:high, k] = mass
                best[low:high, k] = at + first
                inside[low:high, k] = own[np.arange(high - low), at] / np.maximum(mass, 1e-30)
        return Routed(posterior, best, inside, novelty, probabilities)

    def _by_prototypes(self, hops: Hops, unit: Array) -> Array:
        """Return the posterior of every node's unit by its mean AMP profile, [N, T] float32."""
        prototypes = Prototypes(
            self._bank.config,
            [self._bank.task(position).hop_mean for position in range(len(self._bounds))],
            self._metric,
        )
        amp = [prototypes.profiles(hops, low, high) for low, high in self._blocks(len(unit))]
        mean = query_units.means(np.concatenate(amp), unit)
        posterior = prototypes.posterior(mean, self._bank.config.bank.temperature)
        return posterior[unit].astype(np.float32)

    def decide(
        self, hops: HopRows, degree: Array, routed: Routed, chunk: int = task_file.CHUNK
    ) -> tuple[Array, Array]:
        """Return class [N] int64 and confidence [N] float32 of every node.

        Args:
            degree: [N] row sums of the adjacency with self-loops.
            chunk: rows that an expert sees at once.
        """
        n = len(routed.posterior)
        rows = np.arange(n)
        if self._options.decide == "router":
            joint = routed.posterior * routed.inside
            task = joint.argmax(1) if self._options.unit == "node" else routed.posterior.argmax(1)
            return routed.best[rows, task].astype(np.int64), joint[rows, task]
        asked = min(
            self._bank.config.bank.top if self._options.decide == "soft" else 1, len(self._bounds)
        )
        order = np.argsort(-routed.posterior, axis=1, kind="stable")[:, :asked]
        label, confidence = np.full(n, -1, np.int64), np.full(n, -1, np.float32)
        for low, high in self._blocks(n):
            h = torch.from_numpy(hops.rows(self._bank.config.precompute.hops, low, high))
            deg = torch.from_numpy(degree[low:high].astype(np.float32))
            by_task = np.argsort(
                order[low:high], axis=None, kind="stable"
            )  # every (node, task) pair, task by task
            task, starts = np.unique(order[low:high].ravel()[by_task], return_index=True)
            for k, pairs in zip(task.tolist(), np.split(by_task, starts[1:]), strict=True):
                at = pairs // asked
                with task_file.one_thread():
                    own = torch.softmax(task_file.logits(self.expert(k), h[at], deg[at], chunk), 1)
                    value, chosen = (a.numpy() for a in own.max(1))
                joint = routed.posterior[low + at, k] * value
                better = joint > confidence[low + at]
                confidence[low + at[better]] = joint[better]
                label[low + at[better]] = chosen[better] + self._bounds[k][0]
        return label, confidence

    def expert(self, position: int) -> Method:
        """Return a task's own model, which stays loaded."""
        if position not in self._experts:
            self._experts[position] = self._bank.expert(position)
        return self._experts[position]

    @property
    def says_unknown(self) -> bool:
        """Tell whether a node may be called unknown."""
        return self._options.unknown > 0

    def warm_up(self) -> None:
        """Load what else would be loaded with the first answer."""
        if self._options.decide == "router":
            return
        for position in range(len(self._bounds)):
            self.expert(position)
