// Memory that no tensor of the model takes: the CUDA context, communication libraries, cuBLAS workspaces.
//
// Context and communicators lie outside PyTorch's allocator: estimates with a range, each with the measurements
// behind it. cuBLAS workspaces lie inside the allocator and are part of `allocated`.
#pragma once

#include <vector>

#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

/// What the runtime's sizes depend on; known from the GPU's name.
enum class Generation {
  unknown,
  pascal,
  volta,
  turing,
  ampere,
  ada,
  hopper,
  blackwell,          ///< B100, B200, B300 and with Grace
  blackwell_desktop,  ///< RTX 50, RTX PRO, GB10
  cdna,               ///< Instinct before MI300
  cdna3,              ///< Instinct MI300 and later
  rdna,
  not_cuda  ///< neither CUDA nor ROCm
};

Generation generation(const Gpu& gpu);

/// Workspaces of PyTorch's two cuBLAS handles, one of the forward's thread and one of autograd's. Inside `allocated`.
Bytes cublas_workspace(const Gpu& gpu);

/// Transformer Engine's workspace, one for all its matrix products. Inside `allocated`.
Bytes transformer_engine_workspace(const Gpu& gpu);

/// PyTorch's cuBLAS workspaces as a row of component workspace and kind measured; zero bytes where there is no cuBLAS.
Row cublas_workspace_row(const Gpu& gpu);

/// What lies outside the allocator: context, then one line for each communicator.
std::vector<RuntimeRow> runtime_rows(const Config& config);

}  // namespace trainmem
