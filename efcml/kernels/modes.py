"""Modes of `correlation`, as kernels know them; here, without numba, because parameters name them."""

SHIFT, LAPLACIAN, SIGNED, RAW, NONE = 0, 1, 2, 3, 4
