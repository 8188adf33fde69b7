"""Model files: one zip of plain arrays and JSON, checked before anything is believed.

`save` and `load` are for models, `load_fitted` for what one has learned. `write_archive` and
`read_archive` are the container beneath; `pack`, `expected` and `unpack` turn a model into what
goes into it and back, alone or as a part of something larger; `nest` and `pick` put names under a
prefix and back (docs/saving.md).
"""

from efcml.saving.archive import read_archive, write_archive
from efcml.saving.file_checks import take
from efcml.saving.models import expected, load, load_fitted, pack, save, unpack
from efcml.support.states import nest, pick

__all__ = [
    "expected",
    "load",
    "load_fitted",
    "nest",
    "pack",
    "pick",
    "read_archive",
    "save",
    "take",
    "unpack",
    "write_archive",
]
