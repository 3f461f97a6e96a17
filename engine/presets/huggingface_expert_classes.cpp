// Defaults of the configuration classes with experts.
//
// Source: src/transformers/models/*/configuration_*.py, release 5; configuration_deepseek.py of
// deepseek-ai/deepseek-moe-16b-base.
#include "engine/presets/huggingface_expert_classes.h"

#include "engine/presets/huggingface_class_sizes.h"

namespace trainmem {
namespace {

Model make(const char* model_type, std::int64_t vocab_size, std::int64_t hidden_size, std::int64_t layers,
           std::int64_t heads, std::int64_t key_value_heads, std::int64_t intermediate_size) {
  Model model;
  model.model_type = model_type;
  sizes(model, vocab_size, hidden_size, layers, heads, key_value_heads, intermediate_size,
        model.max_position_embeddings);
  return model;
}

Model mixtral() {
  Model model = make("mixtral", 32000, 4096, 32, 32, 8, 14336);
  model.max_position_embeddings = 131072;
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  return model;
}

Model granitemoe(const char* model_type) {
  Model model = make(model_type, 32000, 4096, 32, 32, 0, 11008);
  model.max_position_embeddings = 2048;
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  return model;
}

Model qwen2_moe() {
  Model model = make("qwen2_moe", 151936, 2048, 24, 16, 16, 5632);
  model.max_position_embeddings = 32768;
  model.attention_bias = true;
  model.experts.num_experts = 60;
  model.experts.num_experts_per_tok = 4;
  model.experts.moe_intermediate_size = 1408;
  model.experts.n_shared_experts = 1;
  model.experts.shared_expert_intermediate_size = 5632;
  model.experts.shared_expert_gate = true;
  return model;
}

Model qwen3_moe() {
  Model model = make("qwen3_moe", 151936, 2048, 24, 32, 4, 6144);
  model.max_position_embeddings = 32768;
  model.qk_norm = QkNorm::per_head;
  model.experts.num_experts = 128;
  model.experts.num_experts_per_tok = 8;
  model.experts.moe_intermediate_size = 768;
  return model;
}

Model qwen3_vl_moe() {
  Model model = make("qwen3_vl_moe_text", 151936, 2048, 24, 16, 16, 5632);
  model.head_dim = 128;
  model.max_position_embeddings = 128000;
  model.qk_norm = QkNorm::per_head;
  model.experts.num_experts = 60;
  model.experts.num_experts_per_tok = 4;
  model.experts.moe_intermediate_size = 1408;
  return model;
}

Model olmoe() {
  Model model = make("olmoe", 50304, 2048, 16, 16, 0, 2048);
  model.max_position_embeddings = 4096;
  model.qk_norm = QkNorm::full;
  model.experts.num_experts = 64;
  model.experts.num_experts_per_tok = 8;
  return model;
}

Model deepseek_v2() {
  Model model = make("deepseek_v2", 32000, 4096, 32, 32, 0, 11008);
  model.max_position_embeddings = 2048;
  model.experts.num_experts = 64;
  model.experts.n_shared_experts = 2;
  model.experts.moe_intermediate_size = 1407;
  model.latent_attention = {1536, 512, 128, 64, 128};
  return model;
}

Model deepseek_v3() {
  Model model = make("deepseek_v3", 129280, 7168, 61, 128, 128, 18432);
  model.max_position_embeddings = 4096;
  model.latent_attention = {1536, 512, 128, 64, 128};
  model.experts = {256, 8, 2048, 1};
  model.experts.first_k_dense_replace = 3;
  model.experts.router_bias = true;
  return model;
}

Model gpt_oss() {
  Model model = make("gpt_oss", 201088, 2880, 36, 64, 8, 2880);
  model.head_dim = 64;
  model.max_position_embeddings = 131072;
  model.hidden_act = Activation::clamped_swiglu;
  model.attention_bias = model.attention_output_bias = true;
  model.sliding_window = 128;
  model.sliding_window_pattern = 2;
  model.attention_sinks = true;
  model.experts.num_experts = 128;
  model.experts.num_experts_per_tok = 4;
  model.experts.router_bias = model.experts.expert_bias = true;
  return model;
}

Model glm4_moe() {
  Model model = make("glm4_moe", 151552, 4096, 46, 96, 8, 10944);
  model.head_dim = 128;
  model.max_position_embeddings = 131072;
  model.partial_rotary_factor = 0.5;
  model.experts.num_experts = 128;
  model.experts.num_experts_per_tok = 8;
  model.experts.moe_intermediate_size = 1408;
  model.experts.n_shared_experts = 1;
  model.experts.first_k_dense_replace = 1;
  model.experts.router_bias = true;
  return model;
}

Model llama4_text() {
  Model model = make("llama4_text", 202048, 5120, 48, 40, 8, 16384);
  model.head_dim = 128;
  model.max_position_embeddings = 131072;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 8192;  // attention_chunk_size
  model.sliding_window_pattern = 4;
  model.nope_every = 4;
  model.experts.num_experts = 16;
  model.experts.num_experts_per_tok = 1;
  model.experts.moe_intermediate_size = 8192;
  model.experts.n_shared_experts = 1;
  return model;
}

Model dbrx() {
  Model model = make("dbrx", 32000, 2048, 24, 16, 1, 3584);
  model.max_position_embeddings = 2048;
  model.norm = Norm::layernorm;
  model.experts.num_experts = 4;
  model.experts.num_experts_per_tok = 1;
  return model;
}

Model minimax() {
  Model model = make("minimax", 32000, 4096, 32, 32, 8, 14336);
  model.max_position_embeddings = 131072;
  model.layer_types = "7*linear_attention,full_attention";  // of the published models; the class would alternate
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  return model;
}

Model minimax_m2() {
  Model model = make("minimax_m2", 200064, 3072, 62, 48, 8, 1536);
  model.head_dim = 128;
  model.max_position_embeddings = 196608;
  model.qk_norm = QkNorm::full;
  model.experts.num_experts = 256;
  model.experts.num_experts_per_tok = 8;
  model.experts.router_bias = true;
  return model;
}

Model deepseek() {
  Model model = make("deepseek", 102400, 4096, 30, 32, 32, 11008);
  model.max_position_embeddings = 2048;
  model.experts.num_experts = 64;
  model.experts.num_experts_per_tok = 6;
  model.experts.moe_intermediate_size = 1407;
  model.experts.n_shared_experts = 2;
  return model;
}

/// Experts of DeepSeek V3's kind: chosen by corrected sigmoids, beside one that all tokens share.
Experts deepseek_experts(std::int64_t count, std::int64_t chosen, std::int64_t width, std::int64_t dense_layers) {
  Experts experts;
  experts.num_experts = count;
  experts.num_experts_per_tok = chosen;
  experts.moe_intermediate_size = width;
  experts.n_shared_experts = 1;
  experts.first_k_dense_replace = dense_layers;
  experts.router_bias = true;
  return experts;
}

Model glm4_moe_lite() {
  Model model = make("glm4_moe_lite", 154880, 2048, 47, 20, 20, 10240);
  model.max_position_embeddings = 202752;
  model.latent_attention = {768, 512, 192, 64, 256};
  model.experts = deepseek_experts(64, 4, 1536, 1);
  return model;
}

/// The class has no numbers of experts: those of dots.llm1.
Model dots1() {
  Model model = make("dots1", 152064, 4608, 62, 32, 32, 10944);
  model.max_position_embeddings = 2048;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 4096;
  model.experts = deepseek_experts(128, 6, 1408, 0);
  model.experts.n_shared_experts = 2;
  return model;
}

Model solar_open() {
  Model model = make("solar_open", 196608, 4096, 48, 64, 8, 10240);
  model.head_dim = 128;
  model.max_position_embeddings = 131072;
  model.experts = deepseek_experts(128, 8, 1280, 0);
  return model;
}

Model exaone_moe() {
  Model model = make("exaone_moe", 102400, 4096, 32, 32, 32, 16384);
  model.max_position_embeddings = 2048;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 4096;
  model.sliding_window_pattern = model.nope_every = 4;
  model.experts = deepseek_experts(64, 8, 1024, 1);
  return model;
}

Model flex_olmo() {
  Model model = make("flex_olmo", 100352, 4096, 32, 32, 0, 11008);
  model.max_position_embeddings = 4096;
  model.norm_placement = NormPlacement::post;
  model.qk_norm = QkNorm::full;
  model.experts.num_experts = 7;
  model.experts.num_experts_per_tok = 5;
  return model;
}

Model hunyuan_v1_moe() {
  Model model = make("hunyuan_v1_moe", 290943, 4096, 32, 32, 0, 11008);
  model.max_position_embeddings = 2048;
  model.qk_norm = QkNorm::per_head;
  model.experts.num_experts = 1;
  model.experts.num_experts_per_tok = 1;
  model.experts.n_shared_experts = 1;
  return model;
}

Model phimoe() {
  Model model = make("phimoe", 32064, 4096, 32, 32, 8, 6400);
  model.max_position_embeddings = 131072;
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.experts.num_experts = 16;
  model.experts.num_experts_per_tok = 2;
  return model;
}

Model ernie4_5_moe() {
  Model model = make("ernie4_5_moe", 103424, 2560, 28, 20, 4, 12288);
  model.max_position_embeddings = 131072;
  model.tie_word_embeddings = true;
  model.experts = deepseek_experts(64, 6, 1536, 1);
  model.experts.n_shared_experts = 2;
  return model;
}

const Model classes[] = {granitemoe("granitemoe"),
                         granitemoe("granitemoeshared"),
                         mixtral(),
                         qwen2_moe(),
                         qwen3_moe(),
                         olmoe(),
                         deepseek_v2(),
                         deepseek_v3(),
                         gpt_oss(),
                         glm4_moe(),
                         llama4_text(),
                         dbrx(),
                         minimax(),
                         minimax_m2(),
                         deepseek(),
                         glm4_moe_lite(),
                         dots1(),
                         solar_open(),
                         exaone_moe(),
                         flex_olmo(),
                         hunyuan_v1_moe(),
                         ernie4_5_moe(),
                         phimoe(),
                         qwen3_vl_moe()};

}  // namespace

const Model* huggingface_expert_defaults(std::string_view model_type) {
  for (const Model& model : classes) {
    if (model.model_type == model_type) return &model;
  }
  return nullptr;
}

}  // namespace trainmem
