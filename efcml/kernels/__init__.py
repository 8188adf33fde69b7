"""Pure array functions, compiled by numba; every per-sample cost of efcml is in this folder.

Rules of the folder
-------------------
* Every function is a ``@kernel`` or one of its kin (efcml/_jit/decorators.py; ``@kernel_fast`` lets
  sums be reordered so that they vectorise): arrays, bundles of arrays and numbers in, results
  written into arrays given by the caller. At most eight arguments.
* No allocation, no Python objects, no exceptions: a kernel that needs Python returns a status.
  References to arrays are therefore not counted; only a ``@kernel_numpy`` may call what allocates.
* Symmetric matrices are kept by their lower triangle (triangle.py). Products of matrices go through
  BLAS with ``multiply_into(a, b, out)``; what reads or writes a matrix once is a fused loop.
* No cubic work for an ordinary row. What is cubic is rationed (eigenvalues of a K x K matrix by the
  growth of the rule's weight, inverses that are derived anew by their number of changes) or is
  asked for: rows that lack features or know some labels, and ``decision="subset"``.
* What travels together is a bundle (``rules``, ``cases``, ``settings``, ``scratch``, or ``model``
  with all of them); leaf kernels see plain arrays.
"""
