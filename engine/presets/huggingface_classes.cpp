// Defaults of the configuration classes of transformers, one entry for each model_type.
//
// Source: src/transformers/models/*/configuration_*.py, release 5. An entry lists what differs from Model's own
// defaults (RMSNorm before attention and MLP, gated SiLU, RoPE, no biases, no dropout, untied head).
#include <iterator>

#include "engine/presets/huggingface.h"
#include "engine/presets/huggingface_expert_classes.h"

namespace trainmem {
namespace {

constexpr double tenth = 0.1;

Model layernorm_gpt(const char* model_type) {
  Model model;
  model.model_type = model_type;
  model.hidden_act = Activation::gelu;
  model.gated_mlp = false;
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.attention_bias = true;
  model.attention_output_bias = true;
  model.mlp_bias = true;
  return model;
}

Model rmsnorm_llama(const char* model_type) {
  Model model;
  model.model_type = model_type;
  return model;
}

void sizes(Model& model, std::int64_t vocab_size, std::int64_t hidden_size, std::int64_t layers, std::int64_t heads,
           std::int64_t key_value_heads, std::int64_t intermediate_size, std::int64_t positions) {
  model.vocab_size = vocab_size;
  model.hidden_size = hidden_size;
  model.num_hidden_layers = layers;
  model.num_attention_heads = heads;
  model.num_key_value_heads = key_value_heads;
  model.intermediate_size = intermediate_size;
  model.max_position_embeddings = positions;
}

Model gpt2() {
  Model model = layernorm_gpt("gpt2");
  sizes(model, 50257, 768, 12, 12, 0, 0, 1024);
  model.hidden_act = Activation::gelu_new;
  model.tie_word_embeddings = true;
  model.positions = Positions::learned;
  model.attention_dropout = tenth;
  model.hidden_dropout = tenth;
  model.embedding_dropout = tenth;
  return model;
}

Model gpt_neox() {
  Model model = layernorm_gpt("gpt_neox");
  sizes(model, 50432, 6144, 44, 64, 0, 24576, 2048);
  model.partial_rotary_factor = 0.25;
  model.parallel_attention_mlp = true;
  return model;
}

Model gptj() {
  Model model = layernorm_gpt("gptj");
  sizes(model, 50400, 4096, 28, 16, 0, 0, 2048);
  model.hidden_act = Activation::gelu_new;
  model.norms_per_layer = 1;
  model.attention_bias = false;
  model.attention_output_bias = false;
  model.lm_head_bias = true;
  model.parallel_attention_mlp = true;
  return model;
}

Model opt() {
  Model model = layernorm_gpt("opt");
  sizes(model, 50272, 768, 12, 12, 0, 3072, 2048);
  model.hidden_act = Activation::relu;
  model.tie_word_embeddings = true;
  model.positions = Positions::learned;
  model.hidden_dropout = tenth;
  return model;
}

Model bloom() {
  Model model = layernorm_gpt("bloom");
  sizes(model, 250880, 64, 2, 8, 0, 0, 2048);
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.tie_word_embeddings = true;
  model.positions = Positions::alibi;
  model.embedding_norm = true;
  return model;
}

Model mpt() {
  Model model = layernorm_gpt("mpt");
  sizes(model, 50368, 2048, 24, 16, 0, 0, 2048);
  model.norm_bias = false;
  model.attention_bias = false;
  model.attention_output_bias = false;
  model.mlp_bias = false;
  model.tie_word_embeddings = true;
  model.positions = Positions::alibi;
  return model;
}

Model falcon() {
  Model model = layernorm_gpt("falcon");
  sizes(model, 65024, 4544, 32, 71, 1, 0, 2048);
  model.attention_bias = false;
  model.attention_output_bias = false;
  model.mlp_bias = false;
  model.tie_word_embeddings = true;
  model.norms_per_layer = 1;
  model.parallel_attention_mlp = true;
  return model;
}

Model phi() {
  Model model = layernorm_gpt("phi");
  sizes(model, 51200, 2048, 24, 32, 0, 8192, 2048);
  model.hidden_act = Activation::gelu_new;
  model.norms_per_layer = 1;
  model.lm_head_bias = true;
  model.partial_rotary_factor = 0.5;
  model.parallel_attention_mlp = true;
  return model;
}

Model starcoder2() {
  Model model = layernorm_gpt("starcoder2");
  sizes(model, 49152, 3072, 30, 24, 2, 12288, 4096);
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.tie_word_embeddings = true;
  return model;
}

Model stablelm() {
  Model model = rmsnorm_llama("stablelm");
  sizes(model, 50304, 2560, 32, 32, 32, 6912, 4096);
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.partial_rotary_factor = 0.25;
  return model;
}

Model nemotron() {
  Model model = rmsnorm_llama("nemotron");
  sizes(model, 256000, 6144, 32, 48, 0, 24576, 4096);
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.partial_rotary_factor = 0.5;
  return model;
}

Model cohere() {
  Model model = rmsnorm_llama("cohere");
  sizes(model, 256000, 8192, 40, 64, 0, 22528, 8192);
  model.norm = Norm::layernorm;
  model.norms_per_layer = 1;
  model.tie_word_embeddings = true;
  model.parallel_attention_mlp = true;
  return model;
}

Model cohere2() {
  Model model = cohere();
  model.model_type = "cohere2";
  model.sliding_window = 4096;
  model.sliding_window_pattern = 4;
  model.nope_every = 4;
  return model;
}

Model llama() {
  Model model = rmsnorm_llama("llama");
  sizes(model, 32000, 4096, 32, 32, 0, 11008, 2048);
  return model;
}

Model mistral() {
  Model model = rmsnorm_llama("mistral");
  sizes(model, 32000, 4096, 32, 32, 8, 14336, 131072);
  model.sliding_window = 4096;
  return model;
}

Model ministral() {
  Model model = mistral();
  model.model_type = "ministral";
  return model;
}

Model granite() {
  Model model = rmsnorm_llama("granite");
  sizes(model, 32000, 4096, 32, 32, 0, 11008, 2048);
  return model;
}

Model smollm3() {
  Model model = rmsnorm_llama("smollm3");
  sizes(model, 128256, 2048, 36, 16, 4, 11008, 32768);
  model.tie_word_embeddings = true;
  model.nope_every = 4;
  return model;
}

Model arcee() {
  Model model = rmsnorm_llama("arcee");
  sizes(model, 32000, 2560, 32, 32, 0, 18432, 4096);
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  return model;
}

Model seed_oss() {
  Model model = rmsnorm_llama("seed_oss");
  sizes(model, 155136, 4096, 64, 80, 8, 27648, 524288);
  model.head_dim = 128;
  model.attention_bias = true;
  model.attention_dropout = model.hidden_dropout = 0.1;
  return model;
}

Model qwen2() {
  Model model = rmsnorm_llama("qwen2");
  sizes(model, 151936, 4096, 32, 32, 32, 22016, 32768);
  model.attention_bias = true;
  return model;
}

Model qwen3() {
  Model model = rmsnorm_llama("qwen3");
  sizes(model, 151936, 4096, 32, 32, 32, 22016, 32768);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  return model;
}

Model phi3() {
  Model model = rmsnorm_llama("phi3");
  sizes(model, 32064, 3072, 32, 32, 0, 8192, 4096);
  return model;
}

Model glm() {
  Model model = rmsnorm_llama("glm");
  sizes(model, 151552, 4096, 40, 32, 2, 13696, 131072);
  model.head_dim = 128;
  model.attention_bias = true;
  model.partial_rotary_factor = 0.5;
  return model;
}

Model glm4() {
  Model model = glm();
  model.model_type = "glm4";
  model.norm_placement = NormPlacement::pre_and_post;
  model.norms_per_layer = 4;
  return model;
}

Model ernie() {
  Model model = rmsnorm_llama("ernie4_5");
  sizes(model, 103424, 1024, 18, 16, 2, 3072, 131072);
  model.head_dim = 128;
  model.tie_word_embeddings = true;
  return model;
}

Model exaone4() {
  Model model = rmsnorm_llama("exaone4");
  sizes(model, 102400, 4096, 32, 32, 32, 16384, 2048);
  model.norm_placement = NormPlacement::post;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 4096;
  model.sliding_window_pattern = 4;
  model.nope_every = 4;
  return model;
}

Model helium() {
  Model model = rmsnorm_llama("helium");
  sizes(model, 48000, 2560, 24, 20, 20, 7040, 4096);
  model.head_dim = 128;
  return model;
}

Model hunyuan() {
  Model model = rmsnorm_llama("hunyuan_v1_dense");
  sizes(model, 290943, 4096, 32, 32, 0, 11008, 2048);
  model.qk_norm = QkNorm::per_head;
  return model;
}

Model olmo() {
  Model model = rmsnorm_llama("olmo");
  sizes(model, 50304, 4096, 32, 32, 0, 11008, 2048);
  model.norm = Norm::layernorm;
  model.norm_weight = false;
  return model;
}

Model olmo2() {
  Model model = rmsnorm_llama("olmo2");
  sizes(model, 50304, 4096, 32, 32, 0, 11008, 2048);
  model.norm_placement = NormPlacement::post;
  model.qk_norm = QkNorm::full;
  return model;
}

Model olmo3() {
  Model model = olmo2();
  model.model_type = "olmo3";
  model.sliding_window = 4096;
  model.sliding_window_pattern = 4;
  return model;
}

Model gemma() {
  Model model = rmsnorm_llama("gemma");
  sizes(model, 256000, 3072, 28, 16, 16, 24576, 8192);
  model.head_dim = 256;
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.tie_word_embeddings = true;
  return model;
}

Model gemma2() {
  Model model = gemma();
  model.model_type = "gemma2";
  sizes(model, 256000, 2304, 26, 8, 4, 9216, 8192);
  model.norm_placement = NormPlacement::pre_and_post;
  model.norms_per_layer = 4;
  model.sliding_window = 4096;
  model.sliding_window_pattern = 2;
  model.attn_logit_softcapping = 50.0;
  model.final_logit_softcapping = 30.0;
  return model;
}

Model gemma3_text() {
  Model model = gemma2();
  model.model_type = "gemma3_text";
  model.vocab_size = 262208;
  model.max_position_embeddings = 131072;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window_pattern = 6;
  model.attn_logit_softcapping = 0.0;
  model.final_logit_softcapping = 0.0;
  return model;
}

const Model classes[] = {gpt2(),    gpt_neox(),   gptj(),     opt(),         bloom(),   mpt(),       falcon(),
                         phi(),     starcoder2(), stablelm(), nemotron(),    cohere(),  llama(),     mistral(),
                         granite(), smollm3(),    qwen2(),    qwen3(),       phi3(),    olmo(),      olmo2(),
                         olmo3(),   gemma(),      gemma2(),   gemma3_text(), arcee(),   ministral(), seed_oss(),
                         cohere2(), glm(),        glm4(),     ernie(),       exaone4(), helium(),    hunyuan()};

}  // namespace

const Model* huggingface_defaults(std::string_view model_type) {
  for (const Model& model : classes) {
    if (model.model_type == model_type) return &model;
  }
  return huggingface_expert_defaults(model_type);
}

}  // namespace trainmem
