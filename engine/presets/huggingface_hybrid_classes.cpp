// Defaults of the configuration classes whose layers are of several kinds: convolutions, Mamba, linear attention.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include "engine/presets/huggingface_hybrid_classes.h"

#include "engine/presets/huggingface_class_sizes.h"

namespace trainmem {
namespace {

Model make(const char* model_type, std::int64_t vocab_size, std::int64_t hidden_size, std::int64_t layers,
           std::int64_t heads, std::int64_t key_value_heads, std::int64_t intermediate_size, std::int64_t positions) {
  Model model;
  model.model_type = model_type;
  sizes(model, vocab_size, hidden_size, layers, heads, key_value_heads, intermediate_size, positions);
  return model;
}

/// Without Mamba layers and experts, which the class's own keys say.
Model granitemoehybrid() { return make("granitemoehybrid", 32000, 4096, 32, 32, 0, 1024, 2048); }

Model lfm2() {
  Model model = make("lfm2", 65536, 2560, 32, 32, 8, 12288, 128000);
  model.qk_norm = QkNorm::per_head;
  model.tie_word_embeddings = true;
  return model;
}

Model lfm2_moe() {
  Model model = make("lfm2_moe", 65536, 2048, 32, 32, 8, 7168, 128000);
  model.qk_norm = QkNorm::per_head;
  model.tie_word_embeddings = true;
  model.experts.num_experts = 32;
  model.experts.num_experts_per_tok = 4;
  model.experts.moe_intermediate_size = 1792;
  model.experts.first_k_dense_replace = 2;
  model.experts.router_bias = true;
  return model;
}

Model nemotron_h() {
  Model model = make("nemotron_h", 131072, 4096, 4, 32, 8, 21504, 4096);
  model.head_dim = 128;
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  model.norms_per_layer = 1;
  model.positions = Positions::none;
  model.layer_types = "mamba,moe,full_attention,mlp";
  model.mamba = {.n_heads = 128, .d_head = 64, .n_groups = 8, .d_state = 128, .d_conv = 4, .chunk_size = 128};
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  model.experts.moe_intermediate_size = 7688;
  model.experts.n_shared_experts = 1;
  model.experts.shared_expert_intermediate_size = 7688;
  model.experts.router_bias = true;
  return model;
}

Model falcon_h1() {
  Model model = make("falcon_h1", 128000, 4096, 32, 32, 8, 14336, 8192);
  model.layer_types = "hybrid";
  model.mamba.gated_norm = false;
  return model;
}

Model bamba() {
  Model model = make("bamba", 128000, 4096, 32, 32, 8, 14336, 262144);
  model.layer_types = "mamba";
  model.partial_rotary_factor = 0.5;
  return model;
}

Model olmo_hybrid() {
  Model model = make("olmo_hybrid", 100352, 3840, 32, 30, 0, 11008, 65536);
  model.norm_placement = NormPlacement::post;
  model.qk_norm = QkNorm::full;
  model.layer_types = "3*linear_attention,full_attention";
  model.linear_attention = {30, 30, 96, 192, 4};
  return model;
}

/// Qwen3-Next and Qwen3.5: gated attention in every fourth layer, gated delta networks in the others.
void gated_delta_net(Model& model) {
  model.head_dim = 256;
  model.partial_rotary_factor = 0.25;
  model.qk_norm = QkNorm::per_head;
  model.layer_types = "3*linear_attention,full_attention";
  model.linear_attention = {16, 32, 128, 128, 4};
}

Model qwen3_next() {
  Model model = make("qwen3_next", 151936, 2048, 48, 16, 2, 5632, 32768);
  gated_delta_net(model);
  model.experts = {512, 10, 512, 1, 512, true};
  return model;
}

Model qwen3_5() {
  Model model = make("qwen3_5_text", 248320, 4096, 32, 16, 4, 12288, 32768);
  gated_delta_net(model);
  return model;
}

Model qwen3_5_moe() {
  Model model = make("qwen3_5_moe_text", 248320, 2048, 40, 16, 2, 0, 32768);
  gated_delta_net(model);
  model.experts = {256, 8, 512, 1, 512, true};
  return model;
}

const Model classes[] = {granitemoehybrid(), lfm2(),       lfm2_moe(), nemotron_h(), falcon_h1(), bamba(),
                         olmo_hybrid(),      qwen3_next(), qwen3_5(),  qwen3_5_moe()};

}  // namespace

const Model* huggingface_hybrid_defaults(std::string_view model_type) {
  for (const Model& model : classes) {
    if (model.model_type == model_type) return &model;
  }
  return nullptr;
}

}  // namespace trainmem
