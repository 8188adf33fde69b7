"""Names of types that signatures use; nothing runs by them."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from pandas import DataFrame

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

TableLike: TypeAlias = "ArrayLike | DataFrame"  # rows as people bring them
Names: TypeAlias = Sequence[str] | None
Events: TypeAlias = list[tuple[int, str, int]]  # (row, "birth" | "merge" | "split" | "drop", uid)
PathLike: TypeAlias = str | os.PathLike[str]

# A state is facts that JSON can hold, and arrays by name; see `states`.
Facts: TypeAlias = dict[str, Any]
Arrays: TypeAlias = dict[str, Array]
State: TypeAlias = tuple[Facts, Arrays]
