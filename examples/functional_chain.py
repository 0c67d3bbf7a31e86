"""The chain without a model: potentials in, log Z, marginals, best labelings and samples out.

Weather in two towns: node scores come from what was seen, edge scores from what tends to follow.
"""

from __future__ import annotations

import numpy as np

from fieldcraft.structures import chain
from fieldcraft.structures.states import StateSpace


def main() -> None:
    """Two sequences of different lengths in one batch, then a chain that forbids a step."""
    names = ["sun", "rain"]
    states = StateSpace.labels(names)
    offsets = np.array([0, 4, 6])  # the first sequence has 4 positions, the second 2
    node = np.log([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.5, 0.5], [0.5, 0.5], [0.6, 0.4]])
    edge = np.log([0.8, 0.2, 0.4, 0.6])  # sun->sun, sun->rain, rain->sun, rain->rain
    chains = (node, edge, offsets, states)

    print("log Z   ", chain.log_partition(*chains).round(4))
    found = chain.marginals(*chains)
    print("p(rain) ", found.node[:, 1].round(3))
    best, score = chain.argmax(*chains)
    print("best    ", [names[s] for s in best], "scores", score.round(4))
    print("entropy ", chain.entropy(*chains).round(4))
    for path, value in zip(*chain.k_best(*chains, 3)[1]):
        print("3 best  ", [names[s] for s in path], value.round(4))
    samples = chain.sample(*chains, 10_000, seed=0)[0]  # [10000, 4]
    print("sampled ", (samples == 1).mean(axis=0), "for the first sequence, exact values above")

    everything = StateSpace.labels(names)
    allowed = everything.cells != 2  # rain->sun stands third in the flattened matrix
    once_wet = StateSpace(
        n_states=2,
        sources=np.asarray(everything.sources)[allowed],
        targets=np.asarray(everything.targets)[allowed],
        starts=everything.starts,
        stops=everything.stops,
        label_of=everything.label_of,
        names=everything.names,
    )
    best, _ = chain.argmax(node, edge[allowed], offsets, once_wet)
    print("no sun after rain:", [names[s] for s in best])


if __name__ == "__main__":
    main()
