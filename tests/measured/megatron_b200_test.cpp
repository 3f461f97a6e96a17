// Real runs of Megatron-LM on 8 x B200: torch.cuda.max_memory_allocated() of every rank, published with SimuMax 1.2
// (MooreThreads). Megatron-LM 23e00ed0, Transformer Engine 2.11, PyTorch 2.10: bf16, fp32 main gradients, distributed
// optimizer, sequence parallel, flash attention, fused cross entropy, no recomputation, no dropout, 4,096 tokens, four
// micro-batches of one sequence, vocabulary (128,256 + 1) padded to a multiple of 128 t. One thing was learned from
// these runs: which of PyTorch's two cuBLAS workspace sizes a B200 gets (runtime.cpp). The rest is derived.
//
// Tolerance: 4 MiB. The counter counts whole blocks, of which up to 1 MiB may be unused, and the ranks of one stage
// differ by up to 2 MiB among themselves.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "engine/parallel/megatron.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

struct PublishedRun {
  const char* name;
  bool large;  ///< Llama 3.1 405B with 4 layers; else Llama 3 70B with 12
  std::int64_t tensor_parallel, pipeline_parallel, data_parallel;
  std::int64_t stage;
  double lowest_mib, highest_mib;  ///< over the ranks of the stage
};

constexpr PublishedRun runs[] = {
    {"70B, 12 layers, pp 2, dp 4, first stage", false, 1, 2, 4, 0, 68146.292, 68149.199},
    {"70B, 12 layers, pp 2, dp 4, last stage", false, 1, 2, 4, 1, 64478.550, 64479.479},
    {"70B, 12 layers, tp 2, dp 4", false, 2, 1, 4, 0, 62136.253, 62136.402},
    {"70B, 12 layers, tp 4, dp 2", false, 4, 1, 2, 0, 40009.742, 40009.773},
    {"70B, 12 layers, tp 8", false, 8, 1, 1, 0, 28965.365, 28965.365},
    {"405B, 4 layers, pp 2, dp 4, first stage", true, 1, 2, 4, 0, 88688.757, 88688.882},
    {"405B, 4 layers, pp 2, dp 4, last stage", true, 1, 2, 4, 1, 89172.243, 89173.399},
    {"405B, 4 layers, tp 2, dp 4", true, 2, 1, 4, 0, 83549.632, 83549.850},
    {"405B, 4 layers, tp 4, dp 2", true, 4, 1, 2, 0, 54158.019, 54158.113},
    {"405B, 4 layers, tp 8", true, 8, 1, 1, 0, 39499.845, 39499.845},
};

Config config_of(const PublishedRun& run) {
  Config config;
  config.gpu.name = "B200 SXM 180GB";
  Model& model = config.model;
  model.hidden_size = run.large ? 16384 : 8192;
  model.intermediate_size = run.large ? 53248 : 28672;
  model.num_attention_heads = run.large ? 128 : 64;
  model.num_key_value_heads = run.large ? 16 : 8;
  model.head_dim = 128;
  model.num_hidden_layers = run.large ? 4 : 12;
  model.vocab_size = 128257;
  Recipe& recipe = config.recipe;
  recipe.framework = Framework::megatron;
  recipe.precision = Precision::bf16_mixed;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  recipe.attention = AttentionKernel::flash;
  recipe.loss = Loss::fused;
  recipe.vocabulary_multiple = 128;
  recipe.fused_norm = recipe.fused_mlp = recipe.fused_rope = true;
  recipe.sequence_length = 4096;
  recipe.gradient_accumulation_steps = 4;
  recipe.sequence_parallel = true;
  recipe.tensor_parallel = run.tensor_parallel;
  recipe.pipeline_parallel = run.pipeline_parallel;
  recipe.data_parallel_size = run.data_parallel;
  recipe.distributed_optimizer = true;
  return config;
}

/// What max_memory_allocated() shows: requests rounded up to 512 bytes.
double peak_mib(const Recording& tape) {
  Bytes now = 0;
  Bytes peak = 0;
  for (const std::int32_t event : tape.events) {
    const Bytes bytes = (tape.storages[static_cast<std::size_t>(std::abs(event) - 1)].bytes + 511) / 512 * 512;
    now += event > 0 ? bytes : -bytes;
    peak = std::max(peak, now);
  }
  return static_cast<double>(peak) / (1024 * 1024);
}

}  // namespace

TEST_CASE("Megatron-LM on B200: allocated memory of every published rank within 4 MiB") {
  std::printf("\n%-42s %12s %12s %9s\n", "Megatron-LM on 8 x B200, MiB allocated", "computed", "measured", "error");
  for (const PublishedRun& run : runs) {
    CAPTURE(run.name);
    const double computed = peak_mib(run_megatron(config_of(run), {.steps = 2, .fold = false, .stage = run.stage}));
    std::printf("%-42s %12.1f %12.1f %8.3f%%\n", run.name, computed, run.highest_mib,
                (computed / run.highest_mib - 1) * 100);
    CHECK(computed > run.lowest_mib - 4);
    CHECK(computed < run.highest_mib + 4);
  }
}
