#include "engine/runtime.h"

#include "tests/catch.h"

using namespace trainmem;

namespace {

Config of(GpuArchitecture architecture) {
  Config config;
  config.gpu.architecture = architecture;
  return config;
}

constexpr Bytes mib = 1024 * 1024;

}  // namespace

TEST_CASE("runtime: cuBLAS workspaces are 8,519,680 bytes a handle on A100 and 32 MiB on Hopper") {
  CHECK(cublas_workspace(of(GpuArchitecture::ampere)) == 2 * 8519680);
  CHECK(cublas_workspace(of(GpuArchitecture::hopper)) == 2 * 32 * mib);
  CHECK(cublas_workspace(of(GpuArchitecture::blackwell)) == 2 * 8519680);
  // Transformer Engine 2.11 cpp_extensions/gemm.py: 32 * 1024 * 1024 + 1024.
  CHECK(transformer_engine_workspace(of(GpuArchitecture::blackwell).gpu) == 33555456);
  CHECK(transformer_engine_workspace(of(GpuArchitecture::ampere).gpu) == 4 * mib);
  CHECK(cublas_workspace(of(GpuArchitecture::other)) == 0);
  Config deterministic = of(GpuArchitecture::ampere);
  deterministic.recipe.deterministic = true;  // CUBLAS_WORKSPACE_CONFIG=:4096:8
  CHECK(cublas_workspace(deterministic) == 2 * 32 * mib);
  const Row row = cublas_workspace_row(of(GpuArchitecture::ampere));
  CHECK(row.bytes == 2 * 8519680);
  CHECK(row.elements * row.copies == row.bytes);
  CHECK(row.component == Component::workspace);
  CHECK(row.kind == RowKind::measured);
}

TEST_CASE("runtime: one GPU has a context and no communicator") {
  Config config;
  config.gpu = of(GpuArchitecture::ampere).gpu;
  const auto rows = runtime_rows(config);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].name == "CUDA context");
  CHECK(rows[0].bytes.low == 481 * mib);       // 0.47 GiB, measured
  CHECK(rows[0].bytes.expected == 727 * mib);  // 0.71 GiB, measured
  CHECK(rows[0].bytes.high == 1700 * mib);     // nvidia-smi less reserved memory (fms-acceleration)
}

TEST_CASE("runtime: every way of parallelism brings a communicator, ordered ranges and a source") {
  Config config;
  config.gpu = of(GpuArchitecture::hopper).gpu;
  config.recipe.data_parallel_size = 16;
  config.recipe.hybrid_shard_size = 8;
  config.recipe.tensor_parallel = 8;
  config.recipe.pipeline_parallel = 4;
  const auto rows = runtime_rows(config);
  REQUIRE(rows.size() == 5);
  CHECK(rows[1].name == "NCCL, data-parallel group of 8");
  CHECK(rows[1].bytes.expected == 688 * mib);
  CHECK(rows[2].name == "NCCL, replica group of 2");
  CHECK(rows[2].bytes.expected == 544 * mib);
  CHECK(rows[3].name == "NCCL, tensor-parallel group of 8");
  CHECK(rows[4].name == "NCCL, pipeline group of 4");
  for (const RuntimeRow& row : rows) {
    CHECK(row.bytes.low <= row.bytes.expected);
    CHECK(row.bytes.expected <= row.bytes.high);
    CHECK_FALSE(row.source.empty());
    CHECK_FALSE(row.why.empty());
  }
}
