"""Kernels that call each other by address.

Numba copies what a kernel calls into the kernel, and all that this calls in turn, and optimises and
translates it there once more. With six floors of kernels that was most of the time of the first
fit. A kernel of ours is translated once for each signature and made known to the linker under a
name of its own; its callers only hold that name. What a kernel computes then cannot depend on who
calls it either, to the last digit.

Compiled code comes from the cache with the names in it, so a kernel that is loaded first has those
that it calls loaded: numba runs what stands in ``reload_init`` before.
"""

import _thread
import ctypes
import hashlib
import threading
import traceback
from dataclasses import dataclass
from importlib import import_module

from llvmlite import binding, ir
from numba import config, njit, types
from numba.core import cgutils, sigutils, typing
from numba.core.codegen import CodeLibrary
from numba.core.imputils import lower_builtin, lower_constant
from numba.extending import models, register_model

from efcml._jit.cache_folder import in_own_folder
from efcml._jit.undocumented import if_known

# Where numba has no such hook in what it compiles (0.62 has none), kernels are copied into each
# other again.
POSSIBLE = "_reload_init" in CodeLibrary.__init__.__code__.co_names
NO_WAY_IN = if_known(no_cpython_wrapper=True)


def _compile_later(function, options):
    """Return the function as numba compiles it at its first call."""
    with in_own_folder():
        return njit(**options)(function)


class Kernel:
    """A compiled function; other kernels call it by its address, Python by a way in.

    The way in, code that unpacks Python's objects, is made for those that Python calls.
    """

    def __init__(self, function, options):
        self.py_func = self.__wrapped__ = function
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self.__module__ = function.__module__
        self.dispatcher = with_sound_cache(_compile_later(function, options | NO_WAY_IN))
        self.entry = self.dispatcher
        if NO_WAY_IN:
            self.entry = with_sound_cache(_compile_later(self._way_in(), options))
        self._numba_type_ = KernelType(f"{self.__module__}.{self.__name__}", self)
        lower_builtin(self._numba_type_, types.VarArg(types.Any))(self._write_call)

    def __call__(self, *args):
        """Run the kernel, from Python."""
        return self.entry(*args)

    def _way_in(self):
        """Return a function that does nothing but call the kernel.

        It pretends to be written in the kernel's file, because numba keeps compiled code by file,
        name and line.
        """
        code = self.py_func.__code__
        names = ", ".join(code.co_varnames[: code.co_argcount])
        source = f"def {self.__name__}_way_in({names}):\n    return kernel({names})"
        space = {"kernel": self, "__name__": self.__module__}
        exec(compile("\n" * code.co_firstlineno + source, code.co_filename, "exec"), space)
        return space[f"{self.__name__}_way_in"]

    def place(self, args):
        """Compile the kernel for arguments of these types, if need be, and tell the linker of it.

        Returns its name there and the signature.
        """
        address, sig = self._compile(args)
        name = self._name_for(sig)
        binding.add_symbol(name, address)
        return name, sig

    def _compile(self, args):
        """Return the address of the kernel for arguments of these types, and the signature."""
        if args not in self.dispatcher.overloads:
            self.dispatcher.compile(args)
        result = self.dispatcher.overloads[args]
        address = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
        return address, result.signature

    def _name_for(self, sig):
        digest = hashlib.sha256(str(sig).encode()).hexdigest()[:16]
        return f"{self.__module__}.{self.__name__}.{digest}"

    def _write_call(self, context, builder, sig, args):
        """Write a call into the code of another kernel, and what loading that code needs."""
        name, sig = self.place(sig.args)
        convention = context.call_conv
        kind = convention.get_function_type(sig.return_type, sig.args)
        function = self._write_way(context, builder, kind, name)
        placing = Placing(self.__module__, self.__name__, sig.args, name)
        context.active_code_library._reload_init.add(placing)
        status, value = convention.call_function(builder, function, sig.return_type, sig.args, args)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return value

    def _write_way(self, context, builder, kind, name):
        """Write how a caller comes to the kernel; it is known to the linker by this name."""
        return cgutils.get_or_insert_function(builder.module, kind, name)


class RareKernel(Kernel):
    """A kernel that is compiled when it is first run, not when its callers are.

    The linker knows a function of Python that returns where it is. Each caller asks it once.
    """

    def __init__(self, function, options, returns):
        super().__init__(function, options)
        self.returns = sigutils.normalize_signature(f"{returns}()")[1]
        self.finders = {}

    def place(self, args):
        """Tell the linker who finds the kernel; return that name and the signature."""
        sig = typing.signature(self.returns, *args)
        name = f"{self._name_for(sig)}.find"
        if name not in self.finders:  # what the linker knows must stay
            self.finders[name] = _FINDER(lambda: self._find(sig))
        binding.add_symbol(name, ctypes.cast(self.finders[name], ctypes.c_void_p).value)
        return name, sig

    def _find(self, sig):
        """Return the address of the compiled kernel, or 0; nothing can be raised from here."""
        interrupted = False
        while True:
            try:
                address, found = self._compile(sig.args)
                if found.return_type != sig.return_type:
                    raise TypeError(f"it returns {found.return_type}, not {sig.return_type}")
                break
            except KeyboardInterrupt:  # a row that has begun is learned; then it is raised
                interrupted = True
            except Exception:
                traceback.print_exc()
                return 0
        if interrupted:
            threading.Timer(0.05, _thread.interrupt_main).start()
        return address

    def _write_way(self, context, builder, kind, name):
        word = ir.IntType(64)
        find = cgutils.get_or_insert_function(builder.module, ir.FunctionType(word, ()), name)
        kept = cgutils.add_global_variable(builder.module, word, f"{name}.kept")
        kept.linkage, kept.initializer = "internal", word(0)
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(kept))):
            address = builder.call(find, ())
            with cgutils.if_unlikely(builder, cgutils.is_null(builder, address)):
                message = f"{self.__name__} could not be compiled"
                context.call_conv.return_user_exc(builder, RuntimeError, (message,))
            builder.store(address, kept)
        return builder.inttoptr(builder.load(kept), ir.PointerType(kind))


_FINDER = ctypes.CFUNCTYPE(ctypes.c_size_t)


def compile_by_address(function, options, returns=None):
    """Return a function as a kernel that is called by its address; uncompiled, if numba is off.

    With what it ``returns``, a type of numba in words, it waits until it is run.
    """
    if config.DISABLE_JIT:
        return function
    if not POSSIBLE:
        return _compile_later(function, options)
    return Kernel(function, options) if returns is None else RareKernel(function, options, returns)


def compile_into_callers(function, options):
    """Return a function that is copied into those that call it."""
    dispatcher = _compile_later(function, options)
    return dispatcher if config.DISABLE_JIT or not POSSIBLE else with_sound_cache(dispatcher)


class StaleCode(Exception):
    """Code from the cache looks for a kernel that is not there any more."""


def with_sound_cache(dispatcher):
    """Let a dispatcher compile anew what calls kernels that have changed their types since.

    What is loaded remembers which kernels it calls, which numba forgets: a caller into which it is
    copied calls them too.
    """
    load = dispatcher._cache.load_overload

    def load_if_sound(sig, context):
        try:
            result = load(sig, context)
        except StaleCode:
            return None  # as if it were not in the cache
        if result is not None:
            result.library._reload_init.update(result.reload_init)
        return result

    dispatcher._cache.load_overload = load_if_sound
    return dispatcher


@dataclass(frozen=True)
class Placing:
    """What must be done before code is loaded that calls a kernel by its address."""

    module: str
    name: str
    args: tuple
    symbol: str  # under which the code that is loaded will look for it

    def __call__(self):
        """Load or compile the kernel; code that looks for another one must not run."""
        kernel = getattr(import_module(self.module), self.name, None)
        if not isinstance(kernel, Kernel) or kernel.place(self.args)[0] != self.symbol:
            raise StaleCode(f"{self.module}.{self.name}")


class KernelType(types.Callable):
    """The type of one kernel inside of others."""

    def __init__(self, name, kernel):
        self.kernel = kernel
        super().__init__(name=name)

    def get_call_type(self, context, args, kws):
        """Return the signature for these arguments; the kernel is compiled for it."""
        if kws:
            raise TypeError(f"{self.name}: kernels are called without names of arguments")
        return self.kernel.place(tuple(types.unliteral(arg) for arg in args))[1]

    def get_call_signatures(self):
        """Return all signatures so far."""
        return list(self.kernel.dispatcher.nopython_signatures), True

    def get_impl_key(self, sig):
        """Return what the way to call it is registered for."""
        return self


register_model(KernelType)(models.OpaqueModel)


@lower_constant(KernelType)
def _refer(context, builder, kind, value):
    return context.get_dummy_value()
