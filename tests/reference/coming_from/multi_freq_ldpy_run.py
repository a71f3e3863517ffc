"""multi-freq-ldpy on given reports; vignettes/coming_from/multi_freq_ldpy.md has the same."""

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_IBU, GRR_Aggregator_MI
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI

reports = np.repeat([0, 1, 2, 3], [400, 250, 200, 150])
print(GRR_Aggregator_MI(reports, 4, 1.0).round(6))
print(GRR_Aggregator_IBU(reports, 4, 1.0).round(6))

bits = np.arange(1000)[:, None] * np.array([37, 53, 29, 41]) % 101 < np.array([38, 31, 31, 29])
print(bits.sum(axis=0), UE_Aggregator_MI(bits.astype(int), 1.0, optimal=True).round(6))
