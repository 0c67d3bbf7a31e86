"""Train one model with several processes: mpiexec -n 2 python examples/ranks.py (synthetic: seminars).

Without mpiexec the programme trains in one process. Both find the same features in the same order, and the
same optimum.
"""

from __future__ import annotations

import fieldcraft as fc
from fieldcraft.distributed import launched

corpus = fc.datasets.seminars(n=100)
train, dev = fc.datasets.split(corpus, fraction=0.8, seed=0)
ranks = fc.Ranks() if launched() else None
part = train if ranks is None else ranks.shard(train)  # about as many tokens as the others have

crf = fc.ChainCRF("word[-1..1]", optimiser="lbfgs")
crf.fit(part, X_dev=dev, ranks=ranks)  # every process gets the same model

if ranks is None or ranks.rank == 0:
    print(f"{corpus.source}, {crf.provenance_['sequences']} sequences trained on")
    print(f"{len(crf.weights_)} features, objective {crf.objective_value_:.4f}")
    print(f"held-out score {crf.training_log_[-1].held_out:.4f}")
