"""What knows no features, for peer_scores.py: the labels of the last row, and label frequencies."""

import numpy as np
from peer_libraries import Efcml, Peer


class NoChange(Peer):
    """Answers with the labels of the row before; with none at the very first."""

    def __init__(self, p, K, n_initial):
        super().__init__(p, K, n_initial)
        self.last = np.zeros(K)

    def score(self, x):
        return self.last

    def learn(self, x, y):
        self.last = y


class Frequencies(Efcml):
    """Answers with the share of rows so far that had a label."""

    def __init__(self, p, K, n_initial):
        super().__init__(p, K, n_initial, model="frequencies")
