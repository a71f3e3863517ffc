"""OpenDP: channels, their epsilon, and a bit vector debiased; vignettes/coming_from/opendp.md."""

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")
jobs = ["nurse", "teacher", "driver", "cook"]
respond = dp.m.make_randomized_response(jobs, prob=0.5)
print(round(respond.map(1), 12))
coin = dp.m.make_randomized_response_bool(prob=0.75)
print(round(coin.map(1), 12))

bits = dp.m.make_randomized_response_bitvec(
    dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5
)
print(round(bits.map(1), 12))
reports = np.arange(1000)[:, None] * np.array([37, 53, 29, 41]) % 101 < np.array([50, 40, 35, 28])
packed = [np.packbits(row, bitorder="little").tobytes() for row in reports]
print(reports.sum(axis=0), np.round(dp.m.debias_randomized_response_bitvec(packed, 0.5), 6)[:4])
