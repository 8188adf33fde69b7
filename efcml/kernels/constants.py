"""Numbers that others than kernels need to know too; here, without numba."""

SHIFT, LAPLACIAN, SIGNED, RAW, NONE = 0, 1, 2, 3, 4  # modes of `correlation`

AHEAD = 8  # rows whose distances are measured together; with more, too often for what moves
WAITING = 4  # rows that wait for G; more gain little: the sums then take the time

HAMMING, F1, SUBSET = 0, 1, 2  # what `decision` asks for
