"""torch.nn.SyncBatchNorm on the CPU, for `--cuda-as-cpu`: PyTorch has its kernels for GPUs only.

PyTorch's own code makes the collectives, as it does on GPUs; here is what its kernels compute.
"""

import torch
import torch.distributed as dist


def install() -> None:
    """Lets SyncBatchNorm take tensors on the CPU, in DistributedDataParallel too."""
    for kernel in (batch_norm_stats, batch_norm_gather_stats_with_counts, batch_norm_elemt,
                   batch_norm_backward_reduce, batch_norm_backward_elemt):
        setattr(torch, kernel.__name__, kernel)
    torch.nn.SyncBatchNorm.forward = forward
    torch.nn.parallel.DistributedDataParallel._passing_sync_batchnorm_handle = lambda *_: None


def forward(self, input):
    """The module's, which refuses the CPU."""
    self._check_input_dim(input)
    self._check_non_zero_input_channels(input)
    tracks = self.track_running_stats
    means, variances = (self.running_mean, self.running_var) if tracks or not self.training else (
        None, None)
    share = self.momentum or 0.0
    if self.training and tracks:
        self.num_batches_tracked.add_(1)
        if self.momentum is None:
            share = 1.0 / float(self.num_batches_tracked)
    group = self.process_group or dist.group.WORLD
    if not self.training or not dist.is_initialized() or dist.get_world_size(group) == 1:
        uses_batch = self.training or means is None
        return torch.nn.functional.batch_norm(input, means, variances, self.weight, self.bias,
                                              uses_batch, share, self.eps)
    from torch.nn.modules._functions import SyncBatchNorm
    return SyncBatchNorm.apply(input, self.weight, self.bias, means, variances, self.eps, share,
                               group, dist.get_world_size(group))


def batch_norm_stats(input, eps):
    """The mean of each channel and the inverse of its standard deviation."""
    mean = _sum(_exact(input)) * (input.shape[1] / input.numel())
    centred = _exact(input) - _by_channel(mean, input)
    variance = _sum(centred * centred) * (input.shape[1] / input.numel())
    return mean, torch.rsqrt(variance + eps)


def batch_norm_gather_stats_with_counts(input, means, inverses, running_mean, running_var, momentum,
                                        eps, counts):
    """Those of all ranks together, from those of each, which has `counts` values of a channel."""
    weights = counts.view(-1, 1) / counts.sum()
    mean = (means * weights).sum(0)
    variance = ((inverses ** -2 - eps + (means - mean) ** 2) * weights).sum(0)
    if running_mean is not None:
        running_mean.lerp_(mean.to(running_mean.dtype), momentum)
    if running_var is not None:
        unbiased = variance * (counts.sum() / (counts.sum() - 1))
        running_var.lerp_(unbiased.to(running_var.dtype), momentum)
    return mean, torch.rsqrt(variance + eps)


def batch_norm_elemt(input, weight, bias, mean, inverse, eps):
    output = (_exact(input) - _by_channel(mean, input)) * _by_channel(inverse, input)
    if weight is not None:
        output = output * _by_channel(weight, input) + _by_channel(bias, input)
    return output.to(input.dtype)


def batch_norm_backward_reduce(gradient, input, mean, inverse, weight, *_):
    """By channel: the sum of the gradient, that of its products with the centred input, and the
    gradients of the weight and the bias."""
    total = _sum(_exact(gradient))
    products = _sum(_exact(gradient) * (_exact(input) - _by_channel(mean, input)))
    kind = input.dtype if weight is None else weight.dtype
    return total, products, (products * inverse).to(kind), total.to(kind)


def batch_norm_backward_elemt(gradient, input, mean, inverse, weight, total, products, counts):
    count = counts.sum()
    centred = _exact(input) - _by_channel(mean, input)
    scale = inverse if weight is None else inverse * weight
    slope = inverse ** 2 * products / count
    result = (_exact(gradient) - _by_channel(total / count, input)
              - centred * _by_channel(slope, input)) * _by_channel(scale, input)
    return result.to(input.dtype)


def _exact(tensor):
    """At least as exact as a float, as the kernels compute."""
    return tensor if tensor.dtype is torch.float64 else tensor.float()


def _sum(tensor):
    return tensor.sum([axis for axis in range(tensor.dim()) if axis != 1])


def _by_channel(values, like):
    return values.view(1, -1, *[1] * (like.dim() - 2))
