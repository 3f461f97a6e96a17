#include "engine/runtime.h"

#include <string>

#include "tests/catch.h"

using namespace trainmem;

namespace {

Gpu named(const std::string& name) {
  Gpu gpu;
  gpu.name = name;
  return gpu;
}

constexpr Bytes mib = 1024 * 1024;

}  // namespace

TEST_CASE("runtime: the generation is read from the GPU's name") {
  CHECK(generation(named("H100 SXM5 80GB")) == Generation::hopper);
  CHECK(generation(named("GH200 96GB HBM3")) == Generation::hopper);
  CHECK(generation(named("A100 SXM4 80GB")) == Generation::ampere);
  CHECK(generation(named("RTX A6000")) == Generation::ampere);
  CHECK(generation(named("RTX 6000 Ada")) == Generation::ada);
  CHECK(generation(named("GeForce RTX 4090")) == Generation::ada);
  CHECK(generation(named("GB200 (per GPU) 186GB")) == Generation::blackwell);
  CHECK(generation(named("RTX PRO 6000 Blackwell 96GB")) == Generation::blackwell_desktop);
  CHECK(generation(named("DGX Spark GB10 128GB")) == Generation::blackwell_desktop);
  CHECK(generation(named("Tesla T4")) == Generation::turing);
  CHECK(generation(named("Instinct MI300X")) == Generation::cdna3);
  CHECK(generation(named("Instinct MI250X (both dies)")) == Generation::cdna);
  CHECK(generation(named("Trainium2")) == Generation::not_cuda);
  CHECK(generation(named("my card")) == Generation::unknown);
}

TEST_CASE("runtime: cuBLAS workspaces are 8,519,680 bytes a handle on A100 and 32 MiB on Hopper") {
  CHECK(cublas_workspace(named("A100 SXM4 80GB")) == 2 * 8519680);
  CHECK(cublas_workspace(named("H100 SXM5 80GB")) == 2 * 32 * mib);
  CHECK(cublas_workspace(named("B200 SXM 180GB")) == 2 * 8519680);
  CHECK(transformer_engine_workspace(named("B200 SXM 180GB")) == 32 * mib);
  CHECK(transformer_engine_workspace(named("A100 SXM4 80GB")) == 4 * mib);
  CHECK(cublas_workspace(named("TPU v4")) == 0);
  const Row row = cublas_workspace_row(named("A100 SXM4 80GB"));
  CHECK(row.bytes == 2 * 8519680);
  CHECK(row.elements * row.copies == row.bytes);
  CHECK(row.component == Component::workspace);
  CHECK(row.kind == RowKind::measured);
}

TEST_CASE("runtime: one GPU has a context and no communicator") {
  Config config;
  config.gpu = named("A100 SXM4 80GB");
  const auto rows = runtime_rows(config);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].name == "CUDA context");
  CHECK(rows[0].bytes.low == 481 * mib);       // 0.47 GiB, measured
  CHECK(rows[0].bytes.expected == 727 * mib);  // 0.71 GiB, measured
  CHECK(rows[0].bytes.high == 1700 * mib);     // nvidia-smi less reserved memory (fms-acceleration)
}

TEST_CASE("runtime: every way of parallelism brings a communicator, ordered ranges and a source") {
  Config config;
  config.gpu = named("H100 SXM5 80GB");
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
