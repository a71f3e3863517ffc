"""pure-ldp on given reports; vignettes/coming_from/pure_ldp.md has the same."""

import warnings

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEServer
from pure_ldp.frequency_oracles.rappor import RAPPORClient
from pure_ldp.frequency_oracles.unary_encoding import UEServer

warnings.simplefilter("ignore")  # its servers warn below 10,000 reports

labels = ["nurse", "teacher", "driver", "cook"]
server = DEServer(1.0, 4, index_mapper=labels.index)
for index, count in enumerate([400, 250, 200, 150]):
    for _ in range(count):
        server.aggregate(index)
print([round(float(server.estimate(job)), 6) for job in labels])

turns = np.arange(1000)[:, None] * np.array([37, 53, 29, 41]) % 101
for optimised, ones in ((True, [38, 31, 31, 29]), (False, [50, 46, 43, 40])):
    bits = turns < np.array(ones)
    server = UEServer(1.0, 4, use_oue=optimised, index_mapper=labels.index)
    for report in bits:
        server.aggregate(report.astype(int))
    print(bits.sum(axis=0), [round(float(server.estimate(job)), 6) for job in labels])

client = RAPPORClient(0.5, 8, [lambda text: 3])
kept = [client._perturb([0, 0, 0, 1, 0, 0, 0, 0])[3] for _ in range(10_000)]
print(np.mean(kept))
