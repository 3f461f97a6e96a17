// Defaults of the configuration classes of transformers, one entry for each model_type: Llama and its relatives.
//
// Source: src/transformers/models/*/configuration_*.py, release 5. An entry lists what differs from Model's own
// defaults (RMSNorm before attention and MLP, gated SiLU, RoPE, no biases, no dropout, untied head).

#include "engine/presets/huggingface.h"
#include "engine/presets/huggingface_class_sizes.h"
#include "engine/presets/huggingface_expert_classes.h"
#include "engine/presets/huggingface_gpt_classes.h"
#include "engine/presets/huggingface_hybrid_classes.h"
#include "engine/presets/huggingface_v5_classes.h"

namespace trainmem {
namespace {

Model rmsnorm_llama(const char* model_type) {
  Model model;
  model.model_type = model_type;
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

Model ministral3() {
  Model model = rmsnorm_llama("ministral3");
  sizes(model, 131072, 4096, 34, 32, 8, 14336, 262144);
  model.head_dim = 128;
  return model;
}

Model apertus() {
  Model model = rmsnorm_llama("apertus");
  sizes(model, 131072, 4096, 32, 32, 32, 14336, 65536);
  model.hidden_act = Activation::xielu;
  model.gated_mlp = false;
  model.qk_norm = QkNorm::per_head;
  return model;
}

Model nanochat() {
  Model model = rmsnorm_llama("nanochat");
  sizes(model, 50304, 768, 12, 6, 6, 8192, 2048);
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  model.norm_weight = false;
  model.embedding_norm = true;
  model.qk_norm = QkNorm::per_head;
  model.final_logit_softcapping = 15.0;
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

Model qwen2_vl(const char* model_type) {
  Model model = rmsnorm_llama(model_type);
  sizes(model, 152064, 8192, 80, 64, 8, 29568, 32768);
  model.attention_bias = true;
  return model;
}

Model qwen3_vl() {
  Model model = rmsnorm_llama("qwen3_vl_text");
  sizes(model, 151936, 4096, 32, 32, 32, 22016, 128000);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
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

Model vaultgemma() {
  Model model = gemma2();
  model.model_type = "vaultgemma";
  model.norm_placement = NormPlacement::pre;
  model.norms_per_layer = 2;
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

const Model classes[] = {stablelm(),
                         nemotron(),
                         cohere(),
                         llama(),
                         mistral(),
                         granite(),
                         smollm3(),
                         qwen2(),
                         qwen3(),
                         phi3(),
                         olmo(),
                         olmo2(),
                         olmo3(),
                         gemma(),
                         gemma2(),
                         gemma3_text(),
                         vaultgemma(),
                         arcee(),
                         ministral(),
                         seed_oss(),
                         cohere2(),
                         glm(),
                         glm4(),
                         ernie(),
                         exaone4(),
                         helium(),
                         hunyuan(),
                         ministral3(),
                         nanochat(),
                         apertus(),
                         qwen2_vl("qwen2_vl_text"),
                         qwen2_vl("qwen2_5_vl_text"),
                         qwen3_vl()};

}  // namespace

const Model* huggingface_defaults(std::string_view model_type) {
  for (const Model& model : classes) {
    if (model.model_type == model_type) return &model;
  }
  const Model* of_gpt = huggingface_gpt_defaults(model_type);
  if (of_gpt != nullptr) return of_gpt;
  const Model* of_hybrid = huggingface_hybrid_defaults(model_type);
  if (of_hybrid != nullptr) return of_hybrid;
  const Model* of_v5 = huggingface_v5_defaults(model_type);
  return of_v5 != nullptr ? of_v5 : huggingface_expert_defaults(model_type);
}

}  // namespace trainmem
