"""The sum of sparse tensors, made of gathers of their indices and values."""

import torch


def sum_in_place(group, tensor: torch.Tensor) -> None:
    """Replaces `tensor` (layout sparse_coo) by the sum over the ranks of `group`, a ProcessGroup.

    Blocks. All ranks pass tensors of the same shape and type; they may have different elements.
    """
    own = tensor.detach().coalesce()
    counts = [torch.empty(1, dtype=torch.int64) for _ in range(group.size())]
    group.allgather([counts], [torch.tensor([own._nnz()])]).wait()
    longest = max(int(count) for count in counts)
    parts = []
    for values in (own.indices().t(), own.values()):
        padded = values.new_zeros((longest, *values.shape[1:]))
        padded[:values.shape[0]] = values
        gathered = [torch.empty_like(padded) for _ in counts]
        group.allgather([gathered], [padded]).wait()
        parts.append(torch.cat([each[:int(count)] for each, count in zip(gathered, counts)]))
    total = torch.sparse_coo_tensor(parts[0].t(), parts[1], own.shape)
    with torch.no_grad():
        tensor.copy_(total.coalesce())
