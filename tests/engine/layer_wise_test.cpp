// Whole weights divided among ranks: Megatron-Core's layer-wise distributed optimizer.
#include "engine/training/layer_wise.h"

#include "engine/config/values.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/highest_peak.h"

using namespace trainmem;

// layer_wise_optimizer.py, _shard_params_ping_pong: "Example of 4 ranks and 10 parameters p0-p9 after sorting, then
// dp_cp_params_list will be [[p0, p7, p8], [p1, p6, p9], [p2, p5], [p3, p4]]."
TEST_CASE("layer-wise: weights are dealt out as Megatron's own example has it") {
  std::vector<StageWeight> weights;
  for (const std::int64_t bit : {9, 3, 0, 7, 5, 1, 8, 2, 6, 4}) weights.push_back({1 << bit, 1, 1, true});
  CHECK(dealt_share(weights, false, 4).by_muon == (1 << 1) + (1 << 6) + (1 << 9));
  // Adam has three numbers for an element where Muon has two.
  weights.push_back({600, 1, 1, false});
  const OptimizerShare share = dealt_share(weights, false, 11);
  CHECK(share.by_adam == 600);
  CHECK(share.by_muon == 0);
  CHECK(dealt_share(weights, true, 4).by_muon == 0);
}

// _compute_per_buffer_param_layout: "for uniform transformer blocks where params_per_layer * num_layers is a multiple
// of dp_size the packing is perfect"; a shard ends at a multiple of 64 elements.
TEST_CASE("layer-wise: equal matrices are packed without padding, others with it") {
  const std::vector<StageWeight> blocks{{1536, 512, 16, true}, {512, 512, 16, true}, {512, 1, 32, false}};
  const OptimizerShare even = packed_share(blocks, false, 8);
  CHECK(even.by_muon == 2 * (1536 * 512 + 512 * 512));
  CHECK(even.buffer == 8 * even.by_muon);
  const OptimizerShare odd = packed_share({{10, 10, 3, true}}, false, 2);
  CHECK(odd.by_muon == 200);
  CHECK(odd.buffer == 2 * 256);  // 100, a gap to 128, 100, an end at 256
}

namespace {

/// Twelve layers of 512 units with eight experts, the model of Megatron's functional tests of Muon.
Config megatron() {
  Config config;
  config.gpu.architecture = GpuArchitecture::hopper;
  config.gpu.memory_bytes = 80'000'000'000;
  Model& model = config.model;
  model.model_type = "megatron-gpt";
  model.vocab_size = 50257;
  model.hidden_size = 512;
  model.num_hidden_layers = 12;
  model.num_attention_heads = model.num_key_value_heads = 8;
  model.head_dim = 64;
  model.intermediate_size = 2048;
  model.tie_word_embeddings = true;
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.gated_mlp = false;
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.positions = Positions::learned;
  model.learned_positions = model.max_position_embeddings = 1024;
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  model.experts.moe_intermediate_size = 1024;
  start_recipe(config, Framework::megatron);
  Recipe& recipe = config.recipe;
  recipe.micro_batch_size = 4;
  recipe.data_parallel_size = recipe.expert_parallel = 8;
  recipe.optimizer = Optimizer::muon_adamw;
  return config;
}

}  // namespace

// Numbers of elements from the configuration: embedding 50304 x 512 by Adam, with the norms; by Muon the position table
// 1024 x 512, and in each layer 1536 x 512, 512 x 512, the router 8 x 512 and one expert's two of 512 x 1024.
TEST_CASE("layer-wise: main weights and states of Muon are 8 bytes an element, of Adam 12") {
  constexpr Bytes norms = 12 * 4 * 512 + 2 * 512;
  constexpr Bytes by_adam = 50304 * 512 + norms;
  constexpr Bytes dense = 1024 * 512 + 12 * (1536 * 512 + 512 * 512 + 8 * 512);
  constexpr Bytes experts = 12 * 2 * 512 * 1024;
  const Config whole = megatron();
  REQUIRE(validate(whole).empty());
  Config adam = whole;
  adam.recipe.optimizer = Optimizer::adamw;
  CHECK(highest_peak(adam) - highest_peak(whole) == 4 * (dense + experts));
  Config divided = whole;
  divided.recipe.distributed_optimizer = true;
  // The padding of the matrices' buffer: the position table goes to one rank, whose stretch all others have, too.
  const Bytes saved = highest_peak(whole) - highest_peak(divided);
  CHECK(saved > (12 * by_adam + 8 * dense) * 7 / 8 - 6 * 8 * (1024 * 512 + 8 * 512));
  CHECK(saved <= (12 * by_adam + 8 * dense) * 7 / 8);
}

TEST_CASE("layer-wise: what Muon under Megatron does not do is refused, with a fix that helps") {
  const auto only_path = [](void (*change)(Recipe&)) {
    Config asked = megatron();
    change(asked.recipe);
    const Issues issues = validate(asked);
    REQUIRE(issues.size() == 1);
    CHECK_FALSE(issues[0].fix.value.empty());
    return issues[0].path;
  };
  CHECK(only_path([](Recipe& r) { r.tensor_parallel = 2; }) == "/recipe/tensor_parallel");
  CHECK(only_path([](Recipe& r) { r.precision = Precision::fp16_mixed; }) == "/recipe/precision");
  CHECK(only_path([](Recipe& r) { r.optimizer = Optimizer::muon; }) == "/recipe/optimizer");
}
