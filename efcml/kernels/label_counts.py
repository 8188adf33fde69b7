"""Thresholds by counting, ``decision="f1"``: from which score on a label is worth saying.

For every label and every threshold of a grid it is counted how often the label would have been
said, and how often rightly. F1 of a label at a threshold then is

    2 (hits + h r) / (said + h q + true + h)

with the recall r of all labels together and what they say for each true one, q: a label with few
positives is held to the others by h of them. The threshold with the largest F1 is taken.
"""

from efcml._jit import kernel, kernel_part, kernel_rare

N_THRESHOLDS = 41
LOWEST, STEP = -0.1, 0.025
USUAL = 0.5  # as long as no label was true
HELD = 20.0  # positives by which a label is held to all of them


@kernel_part
def threshold_at(place):
    """Return a threshold of the grid."""
    return LOWEST + STEP * place


@kernel
def fade_counts(kept, counts):
    """Forget some of all counts."""
    for k in range(counts.true.shape[0]):
        counts.true[k] *= kept
        counts.rows[k] *= kept
        for place in range(N_THRESHOLDS):
            counts.hits[k, place] *= kept
            counts.said[k, place] *= kept


@kernel
def count_row(scores, y, known, kept, counts):
    """Count the known labels of a row; ``kept`` is left of the rows before."""
    if kept < 1.0:
        fade_counts(kept, counts)
    for k in range(known.shape[0]):
        if known[k]:
            counts.rows[k] += 1.0
            counts.true[k] += y[k]
            for place in range(N_THRESHOLDS):
                if scores[k] < threshold_at(place):
                    break
                counts.said[k, place] += 1.0
                counts.hits[k, place] += y[k]


@kernel
def count_rows(scores, Y, known, counts):
    """Count the rows of a batch."""
    for t in range(scores.shape[0]):
        count_row(scores[t], Y[t], known[t], 1.0, counts)


@kernel
def pool_counts(counts, recall, effort):
    """Write, of all labels together, hits and what is said for each true label, by threshold."""
    true = 0.0
    for k in range(counts.true.shape[0]):
        true += counts.true[k]
    true = max(true, 1.0)
    for place in range(N_THRESHOLDS):
        hits = said = 0.0
        for k in range(counts.true.shape[0]):
            hits += counts.hits[k, place]
            said += counts.said[k, place]
        recall[place], effort[place] = hits / true, said / true


@kernel_rare()
def find_thresholds(counts, thresholds):
    """Write the threshold of every label; the lowest of those that are equally good."""
    recall, effort = counts.recall, counts.effort
    pool_counts(counts, recall, effort)
    for k in range(thresholds.shape[0]):
        best, most = -1, 0.0
        for place in range(N_THRESHOLDS):
            hits = counts.hits[k, place] + HELD * recall[place]
            said = counts.said[k, place] + HELD * effort[place]
            value = 2.0 * hits / (said + counts.true[k] + HELD)
            if value > most:
                best, most = place, value
        thresholds[k] = USUAL if best < 0 else threshold_at(best)
