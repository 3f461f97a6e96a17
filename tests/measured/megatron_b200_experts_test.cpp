// Real runs of Megatron-LM on 8 x B200 with mixture of experts: DeepSeek-V2 with 4 layers, of which the first is dense.
// torch.cuda.max_memory_allocated() of every rank, published with SimuMax 1.2 (MooreThreads, docs/b200); arguments in
// its simu_tools/megatron_scripts/scripts/run_pretrain_deepseekv2.sh. Megatron-LM 23e00ed0, Transformer Engine 2.11:
// bf16, fp32 main gradients, distributed optimizer, flash attention, fused cross entropy, all-to-all dispatcher, four
// micro-batches of one sequence of 4,096 tokens, vocabulary (102,400 + 1) padded to a multiple of 128.
//
// Tolerance: 0.5 %. The runs pad each expert to a capacity (154 rows where 153.6 are the mean), balance by a loss of
// their own and permute in a fused kernel, which the engine does not; together some 15 MiB a layer with experts.
#include <algorithm>
#include <cmath>

#include "engine/training/megatron.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

struct PublishedRun {
  std::int64_t expert_parallel, pipeline_parallel, data_parallel, stage;
  double highest_mib;  ///< over the ranks of the stage
};

constexpr PublishedRun runs[] = {{8, 1, 8, 0, 46730.001}, {4, 2, 4, 0, 32343.429}, {4, 2, 4, 1, 45775.801}};

Config config_of(const PublishedRun& run) {
  Config config;
  config.gpu.architecture = GpuArchitecture::blackwell;
  Model& model = config.model;
  model.model_type = "deepseek_v2";
  model.hidden_size = 5120;
  model.intermediate_size = 12288;
  model.num_attention_heads = model.num_key_value_heads = 128;
  model.head_dim = 192;
  model.num_hidden_layers = 4;
  model.vocab_size = 102401;
  model.latent_attention = {1536, 512, 128, 64, 128};
  model.experts.num_experts = 160;
  model.experts.num_experts_per_tok = 6;
  model.experts.moe_intermediate_size = 1536;
  model.experts.n_shared_experts = 2;
  model.experts.first_k_dense_replace = 1;
  Recipe& recipe = config.recipe;
  recipe.framework = Framework::megatron;
  recipe.precision = Precision::bf16_mixed;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  recipe.attention = AttentionKernel::sdpa;
  recipe.loss = Loss::fused;
  recipe.vocabulary_multiple = 128;
  recipe.fused_norm = recipe.fused_mlp = recipe.fused_rope = true;
  recipe.sequence_length = 4096;
  recipe.gradient_accumulation_steps = 4;
  recipe.pipeline_parallel = run.pipeline_parallel;
  recipe.data_parallel_size = run.data_parallel;
  recipe.expert_parallel = run.expert_parallel;
  recipe.distributed_optimizer = true;
  return config;
}

/// What max_memory_allocated() shows: requests rounded up to 512 bytes.
double peak_mib(const Recording& tape) {
  Bytes now = 0;
  Bytes peak = 0;
  for (const Event event : tape.events) {
    const Bytes bytes = (tape.storage_of(event).bytes + 511) / 512 * 512;
    now += allocates(event) ? bytes : -bytes;
    peak = std::max(peak, now);
  }
  return static_cast<double>(peak) / (1024 * 1024);
}

}  // namespace

TEST_CASE("Megatron-LM on B200 with experts and latent attention: every published stage within 0.5 %") {
  for (const PublishedRun& run : runs) {
    const double computed = peak_mib(run_megatron(config_of(run), {.steps = 2, .fold = false, .stage = run.stage}));
    CAPTURE(run.expert_parallel, run.stage, computed, run.highest_mib);
    CHECK(std::abs(computed / run.highest_mib - 1) < 0.005);
  }
}
