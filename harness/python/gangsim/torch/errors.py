"""gangsim's errors as those of torch.distributed."""

import torch.distributed as dist

from ..errors import Error, GangError, GangFailure

# PyTorch 1 has no class of its own; gangsim's errors are RuntimeErrors there, as PyTorch's.
_BASE = getattr(dist, "DistBackendError", None)
_STORE_BASE = getattr(dist, "DistStoreError", _BASE)


def _with_base(base, kind):
    """A class that programs see as `base`, and that is a `kind` too."""
    if base is None:
        return kind
    return type(base.__name__, (base, kind), {"__doc__": kind.__doc__,
                                              "__module__": "torch.distributed"})


_GANG_ERROR, _FAILURE = _with_base(_BASE, GangError), _with_base(_BASE, GangFailure)
_STORE_ERROR = _with_base(_STORE_BASE, GangError)


def as_torch(error: Error) -> Error:
    """The same error, as an error of torch.distributed where PyTorch has one for it."""
    if type(error) is GangFailure:
        return _FAILURE(str(error))
    if type(error) is GangError:
        return _GANG_ERROR(str(error), error.kind)
    return error


def as_store_error(error: Error) -> Error:
    if type(error) is GangError:
        return _STORE_ERROR(str(error), error.kind)
    return as_torch(error)
