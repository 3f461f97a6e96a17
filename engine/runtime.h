// Memory that no tensor of the model takes: the CUDA context, communication libraries, cuBLAS workspaces.
//
// Context and communicators lie outside PyTorch's allocator: estimates with a range, each with the measurements
// behind it. cuBLAS workspaces lie inside the allocator and are part of `allocated`.
#pragma once

#include <vector>

#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

/// Workspaces of PyTorch's two cuBLAS handles, one of the forward's thread and one of autograd's. Inside `allocated`.
Bytes cublas_workspace(const Config& config);

/// Transformer Engine's workspace, one for all its matrix products. Inside `allocated`.
Bytes transformer_engine_workspace(const Gpu& gpu);

/// PyTorch's cuBLAS workspaces as a row of component workspace and kind measured; zero bytes where there is no cuBLAS.
Row cublas_workspace_row(const Config& config);

/// What lies outside the allocator: context, then one line for each communicator.
std::vector<RuntimeRow> runtime_rows(const Config& config);

}  // namespace trainmem
