// Host memory that offloading takes.
#pragma once

#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

/// An estimate, bytes for each GPU: weights, master weights, gradients and optimizer states that the same configuration
/// would hold on the GPU at its peak without offloading, less what it holds there with it. Pinned staging buffers and
/// checkpoints are not in it. 0: neither parameters nor optimizer are offloaded. The configuration is valid and
/// modelled.
Bytes host_memory(const Config& config);

}  // namespace trainmem
