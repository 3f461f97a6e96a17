#include "engine/runtime.h"

#include <string>
#include <string_view>
#include <utility>

namespace trainmem {
namespace {

constexpr Bytes mib = 1024 * 1024;

struct NamePart {
  std::string_view part;
  Generation generation;
};

// First match wins: "GH200" before "H200", "RTX PRO 6000 Blackwell" before "Blackwell".
constexpr NamePart name_parts[] = {
    {"RTX PRO", Generation::blackwell_desktop},
    {"RTX 50", Generation::blackwell_desktop},
    {"GB10 ", Generation::blackwell_desktop},
    {"B100", Generation::blackwell},
    {"B200", Generation::blackwell},
    {"B300", Generation::blackwell},
    {"H100", Generation::hopper},
    {"H200", Generation::hopper},
    {"H800", Generation::hopper},
    {"H20", Generation::hopper},
    {"Ada", Generation::ada},
    {"RTX 40", Generation::ada},
    {"L40", Generation::ada},
    {"L4", Generation::ada},
    {"A100", Generation::ampere},
    {"A800", Generation::ampere},
    {"A10", Generation::ampere},
    {"A30", Generation::ampere},
    {"A40", Generation::ampere},
    {"RTX A", Generation::ampere},
    {"RTX 30", Generation::ampere},
    {"Orin", Generation::ampere},
    {"RTX 20", Generation::turing},
    {"T4", Generation::turing},
    {"V100", Generation::volta},
    {"P100", Generation::pascal},
    {"MI30", Generation::cdna3},
    {"MI32", Generation::cdna3},
    {"MI35", Generation::cdna3},
    {"MI", Generation::cdna},
    {"Radeon", Generation::rdna},
    {"Gaudi", Generation::not_cuda},
    {"TPU", Generation::not_cuda},
    {"Trainium", Generation::not_cuda},
    {"Apple", Generation::not_cuda},
    {"GPU Max", Generation::not_cuda},
};

bool is_rocm(Generation g) { return g == Generation::cdna || g == Generation::cdna3 || g == Generation::rdna; }

std::string text(std::int64_t number) { return std::to_string(number); }

/// Bytes of one handle's workspace: parseChosenWorkspaceSize of ATen's CublasHandlePool.cpp. Newer versions give
/// Blackwell 32 MiB too; published B200 runs on PyTorch 2.10 show the smaller size.
Bytes handle_workspace(Generation g) {
  switch (g) {
    case Generation::hopper: return 4096 * 8 * 1024;
    case Generation::cdna3: return 128 * mib;
    case Generation::cdna:
    case Generation::rdna: return 32 * mib;
    case Generation::not_cuda: return 0;
    default: return 4096 * 1024 * 2 + 16 * 1024 * 8;
  }
}

RuntimeRow context_row(Generation g) {
  RuntimeRow row;
  row.name = is_rocm(g) ? "HIP context" : g == Generation::not_cuda ? "device runtime" : "CUDA context";
  row.why = "driver state and the code of every kernel loaded so far; lazy loading keeps it small";
  switch (g) {
    case Generation::ampere:
    case Generation::hopper:
    case Generation::blackwell:
      row.bytes = {481 * mib, 727 * mib, 1700 * mib};
      row.source =
          "A100: 0.47 GiB with lazy loading and 0.92 GiB without (PyTorch 2.1, CUDA 12.1), 0.71 GiB in a newer run "
          "(stas00/ml-engineering); 1.66 GiB between nvidia-smi and reserved memory in three runs on one A100 "
          "(fms-acceleration a100_80gb.csv)";
      if (g != Generation::ampere) row.source += "; taken over from the A100";
      return row;
    case Generation::pascal:
    case Generation::volta:
    case Generation::turing:
      row.bytes = {300 * mib, 481 * mib, 1343 * mib};
      row.source =
          "V100: 1343 and 1271 MiB without lazy loading (PyTorch 1.10, Hugging Face and BigScience); with it 0.3 GiB "
          "(PyTorch issue 107667) to 0.47 GiB (A100, stas00/ml-engineering)";
      return row;
    case Generation::ada:
    case Generation::blackwell_desktop:
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

Generation generation(const Gpu& gpu) {
  for (const NamePart& candidate : name_parts) {
    if (gpu.name.find(candidate.part) != std::string::npos) return candidate.generation;
  }
  return Generation::unknown;
}

Bytes cublas_workspace(const Gpu& gpu) { return 2 * handle_workspace(generation(gpu)); }

Bytes transformer_engine_workspace(const Gpu& gpu) {
  switch (generation(gpu)) {
    case Generation::not_cuda: return 0;
    case Generation::hopper:
    case Generation::blackwell:
    case Generation::blackwell_desktop: return 32 * mib;
    default: return 4 * mib;
  }
}

Row cublas_workspace_row(const Gpu& gpu) {
  const Bytes one = handle_workspace(generation(gpu));
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
  row.formula = text(one) + " bytes x 2 handles";
  row.source =
      "ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize: :4096:2:16:8, on Hopper 32 MiB. Published A100 "
      "runs show the tape and twice 8,519,680 bytes. The newest PyTorch shares one workspace between both handles";
  row.kind = RowKind::measured;
  return row;
}

std::vector<RuntimeRow> runtime_rows(const Config& config) {
  const Recipe& recipe = config.recipe;
  std::vector<RuntimeRow> rows;
  rows.push_back(context_row(generation(config.gpu)));

  const bool hybrid = recipe.hybrid_shard_size > 0 && recipe.hybrid_shard_size < recipe.data_parallel_size;
  const Size shards = hybrid ? Size(recipe.hybrid_shard_size) : recipe.data_parallel_size;
  const Communicator communicators[] = {
      {"data-parallel", shards, false},
      {"replica", hybrid ? recipe.data_parallel_size / shards : Size(1), false},
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
