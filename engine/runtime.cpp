#include "engine/runtime.h"

#include <string>

#include "engine/config/shard_group.h"
#include "engine/verdict.h"

namespace trainmem {
namespace {

constexpr Bytes mib = 1024 * 1024;

bool is_rocm(GpuArchitecture g) {
  return g == GpuArchitecture::cdna || g == GpuArchitecture::cdna3 || g == GpuArchitecture::cdna4 ||
         g == GpuArchitecture::rdna;
}

std::string text(std::int64_t number) { return std::to_string(number); }

/// Bytes of one handle's workspace: parseChosenWorkspaceSize of ATen's CublasHandlePool.cpp. Newer versions give
/// Blackwell 32 MiB too; published B200 runs on PyTorch 2.10 show the smaller size.
Bytes handle_workspace(const Config& config) {
  constexpr Bytes eight_of_4096_kib = 4096 * 8 * 1024;
  switch (config.gpu.architecture) {
    case GpuArchitecture::hopper: return eight_of_4096_kib;
    case GpuArchitecture::cdna3:
    case GpuArchitecture::cdna4: return 128 * mib;
    case GpuArchitecture::cdna:
    case GpuArchitecture::rdna: return 32 * mib;
    case GpuArchitecture::other: return 0;
    default: return config.recipe.deterministic ? eight_of_4096_kib : 4096 * 1024 * 2 + 16 * 1024 * 8;
  }
}

RuntimeRow context_row(GpuArchitecture g) {
  RuntimeRow row;
  row.name = is_rocm(g) ? "HIP context" : g == GpuArchitecture::other ? "device runtime" : "CUDA context";
  row.why = "driver state and the code of every kernel loaded so far; lazy loading keeps it small";
  switch (g) {
    case GpuArchitecture::ampere:
    case GpuArchitecture::hopper:
    case GpuArchitecture::blackwell:
      row.bytes = {481 * mib, 727 * mib, 1700 * mib};
      row.source =
          "A100: 0.47 GiB with lazy loading and 0.92 GiB without (PyTorch 2.1, CUDA 12.1), 0.71 GiB in a newer run "
          "(stas00/ml-engineering); 520 MiB beside what is computed in four runs of PyTorch 2.4 on one A100 "
          "(fms-acceleration a100_80gb_liger.csv); 1.66 GiB between nvidia-smi and reserved memory in three runs on "
          "one A100 "
          "(fms-acceleration a100_80gb.csv)";
      if (g != GpuArchitecture::ampere) row.source += "; taken over from the A100";
      return row;
    case GpuArchitecture::pascal:
    case GpuArchitecture::volta:
    case GpuArchitecture::turing:
      row.bytes = {300 * mib, 481 * mib, 1343 * mib};
      row.source =
          "V100: 1343 and 1271 MiB without lazy loading (PyTorch 1.10, Hugging Face and BigScience); with it 0.3 GiB "
          "(PyTorch issue 107667) to 0.47 GiB (A100, stas00/ml-engineering)";
      return row;
    case GpuArchitecture::ada:
    case GpuArchitecture::blackwell_rtx:
      row.bytes = {300 * mib, 481 * mib, 1335 * mib};
      row.source =
          "0.3 GiB with lazy loading (PyTorch issue 107667), 0.47 GiB (A100, stas00/ml-engineering), 1.4 GB of fixed "
          "overhead on an RTX 5070 Ti (unsloth, calibrated)";
      return row;
    default:
      row.bytes = {300 * mib, 727 * mib, 1343 * mib};
      row.source = "No measurement of this device is known: the range of NVIDIA's from lazy loading to none";
      return row;
  }
}

/// Of the capacity that the runtime gives a program.
RuntimeRow vllm_row(const Config& config) {
  const Bytes known = usable_capacity(config.gpu);
  const Bytes capacity = known > 0 ? known : config.gpu.memory_bytes;
  const auto bytes = static_cast<Bytes>(config.recipe.vllm_memory_fraction * static_cast<double>(capacity));
  RuntimeRow row;
  row.name = "vLLM";
  row.bytes = {bytes, bytes, bytes};
  row.why = "weights and KV cache of the engine that writes completions in the same process, up to a share of the GPU";
  row.source =
      "TRL trainer/grpo_config.py: vllm_gpu_memory_utilization, vllm_mode colocate; generation/vllm_generation.py";
  return row;
}

struct Communicator {
  const char* name;
  std::int64_t ranks;
  bool all_to_all;
};

RuntimeRow communicator_row(const Communicator& communicator, bool first) {
  // 544 MiB for two ranks and 688 MiB for more, each communicator after one all-reduce of 4 MB.
  const Bytes measured = (communicator.ranks == 2 ? 544 : 688) * mib;
  RuntimeRow row;
  row.name = std::string("NCCL, ") + communicator.name + " group of " + text(communicator.ranks);
  row.bytes.low = first ? measured / 2 : 0;
  row.bytes.expected = measured;
  row.bytes.high = communicator.all_to_all ? 3359 * mib : 1485 * mib;
  row.why = "channel buffers of one communicator, made at its first collective";
  row.why += first ? "; fewer channels need less" : "; communicators that share resources need nothing more";
  row.source =
      "4 x A100 with NVLink: 544 MiB for 2 ranks, 688 MiB for more (NVIDIA/nccl issue 964); first barrier +1.45 GiB "
      "(stas00/ml-engineering); sharing and channels: NVIDIA/nccl issue 864";
  if (communicator.all_to_all) row.source += "; all-to-all on 8 x H100: +3.28 GiB (NVIDIA/nccl issue 1685)";
  return row;
}

}  // namespace

Bytes cublas_workspace(const Config& config) { return 2 * handle_workspace(config); }

Bytes transformer_engine_workspace(const Gpu& gpu) {
  switch (gpu.architecture) {
    case GpuArchitecture::other: return 0;
    case GpuArchitecture::hopper:
    case GpuArchitecture::blackwell:
    case GpuArchitecture::blackwell_rtx: return 32 * mib + 1024;  // for alignment and scales, from 2.8 on
    default: return 4 * mib;
  }
}

Row cublas_workspace_row(const Config& config) {
  const Bytes one = handle_workspace(config);
  Row row;
  row.name = "cublas.workspace";
  row.shape = text(one);
  row.dtype = "uint8";
  row.elements = one;
  row.element_bytes = 1;
  row.copies = 2;
  row.bytes = 2 * one;
  row.component = Component::workspace;
  row.why = "scratch memory of the two cuBLAS handles: the forward's thread and autograd's; kept to the end of the run";
  row.formula = text(one) + " bytes * 2 handles";
  row.source =
      "ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize: :4096:2:16:8, on Hopper and with "
      "CUBLAS_WORKSPACE_CONFIG=:4096:8 32 MiB. Published A100 runs show the tape and twice 8,519,680 "
      "bytes. The newest PyTorch shares one workspace between both handles";
  row.kind = RowKind::measured;
  return row;
}

std::vector<RuntimeRow> runtime_rows(const Config& config) {
  const Recipe& recipe = config.recipe;
  std::vector<RuntimeRow> rows;
  rows.push_back(context_row(config.gpu.architecture));
  if (recipe.objective == Objective::grpo && recipe.vllm_memory_fraction > 0) rows.push_back(vllm_row(config));

  const Size group = shard_group(recipe);
  const Communicator communicators[] = {
      {"data-parallel", group, false},
      {"replica", recipe.data_parallel_size / group, false},
      {"tensor-parallel", recipe.tensor_parallel, false},
      {"pipeline", recipe.pipeline_parallel, false},
      {"context-parallel", recipe.context_parallel, false},
      {"expert-parallel", recipe.expert_parallel, true},
  };
  bool first = true;
  for (const Communicator& communicator : communicators) {
    if (communicator.ranks <= 1) continue;
    rows.push_back(communicator_row(communicator, first));
    first = false;
  }
  return rows;
}

}  // namespace trainmem
