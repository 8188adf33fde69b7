"""How kernels see a bundle: as the address of a table.

Numba hands a tuple over by value. An array is a struct of five fields and two for each axis, so a
kernel with all arrays of the rules had hundreds of arguments, and the compiler spent much of its
time on carrying them from one kernel to the next. The table of a bundle is made of words of eight
bytes: where each array lies and its shape, numbers as they are, the address of a bundle within.
``bundle.W`` reads as it does for a tuple, compiled or not.
"""

import hashlib
import threading
from functools import cache

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import (
    NativeValue,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype

from efcml.support.bundles import Bundle

WORD, INDEX = ir.IntType(64), ir.IntType(32)
TABLE = ir.PointerType(WORD)

_writing = threading.RLock()  # a bundle within is written on the way


class BundleType(types.Type):
    """The type of a bundle: what its fields are, and at which word each begins."""

    def __init__(self, label, fields):
        self.label, self.fields = label, fields
        self.places, begin = {}, 0
        for name, kind in fields:
            self.places[name] = kind, begin
            begin += 1 + (kind.ndim if isinstance(kind, types.Array) else 0)
        self.n_words = begin
        kinds = ",".join(f"{name}:{kind}" for name, kind in fields)
        digest = hashlib.sha256(kinds.encode()).hexdigest()[:16]
        super().__init__(name=f"{label}_{digest}")  # names of compiled code have it; so, short

    @property
    def key(self):
        """What makes two of them equal."""
        return self.label, self.fields


_types = {}  # by name and what the fields are; hashing types of numba takes long, so by their ids


def _type_of(label, names, kinds):
    key = (label, *map(id, kinds))
    if key not in _types:
        _types[key] = BundleType(label, tuple(zip(names, kinds, strict=True)))  # keeps the kinds
    return _types[key]


@cache
def _array_type(dtype, ndim, writeable):
    return types.Array(from_dtype(dtype), ndim, "C", readonly=not writeable)


def _kind_of(value):
    """Return what ``typeof`` does; for arrays that takes long, and a base of rules has dozens."""
    if type(value) is np.ndarray and value.flags.c_contiguous and value.flags.aligned:
        return _array_type(value.dtype, value.ndim, value.flags.writeable)
    return typeof(value)


@typeof_impl.register(Bundle)
def _typeof_bundle(value, context):
    if not hasattr(value, "_numba_type_"):
        with _writing:  # learners that were copied share bundles, and may run in two threads
            if not hasattr(value, "_numba_type_"):
                _write_table(value)
    return value._numba_type_


def _write_table(value):
    """Write the table of a bundle."""
    kinds = [_kind_of(getattr(value, name)) for name in value._fields]
    kind = _type_of(type(value).__name__, value._fields, kinds)
    words = np.zeros(kind.n_words, np.int64)
    for name, (what, begin) in kind.places.items():
        _write_field(what, getattr(value, name), words[begin:])
    for name, content in (("_words", words), ("_address", words.ctypes.data)):
        object.__setattr__(value, name, content)
    object.__setattr__(value, "_numba_type_", kind)


def _write_field(kind, value, words):
    if isinstance(kind, types.Array) and kind.layout == "C":
        words[0] = value.ctypes.data
        words[1 : 1 + kind.ndim] = value.shape
    elif isinstance(kind, BundleType):
        words[0] = value._address
    elif kind == types.float64:
        words[:1].view(np.float64)[0] = value
    elif kind in (types.int64, types.boolean):
        words[0] = value
    else:
        raise TypeError(f"a bundle cannot hold {kind}")


@register_model(BundleType)
class _BundleModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, TABLE)


@unbox(BundleType)
def _unbox_bundle(kind, value, c):
    number = c.pyapi.object_getattr_string(value, "_address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.inttoptr(address, TABLE))


@infer_getattr
class _BundleAttribute(AttributeTemplate):
    key = BundleType

    def generic_resolve(self, kind, name):
        if name in kind.places:
            return kind.places[name][0]
        return None


@lower_getattr_generic(BundleType)
def _read_field(context, builder, kind, table, name):
    what, begin = kind.places[name]
    if isinstance(what, types.Array):
        return _read_array(context, builder, what, table, begin)
    if what == types.boolean:
        return builder.icmp_signed("!=", _read(builder, table, begin), ir.Constant(WORD, 0))
    return _read(builder, table, begin, context.get_value_type(what))


def _read(builder, table, place, kind=WORD):
    """Read one word. Nothing writes to a table, so it need not be read twice."""
    pointer = builder.gep(table, [ir.Constant(INDEX, place)])
    if kind is not WORD:
        pointer = builder.bitcast(pointer, ir.PointerType(kind))
    word = builder.load(pointer)
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def _read_array(context, builder, kind, table, begin):
    array = make_array(kind)(context, builder)
    shape = [_read(builder, table, begin + 1 + axis) for axis in range(kind.ndim)]
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [ir.Constant(WORD, size)]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    data = _read(builder, table, begin, array.data.type)
    populate_array(
        array, data=data, shape=shape, strides=strides, itemsize=strides[-1], meminfo=None
    )
    return array._getvalue()
