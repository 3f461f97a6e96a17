// The configuration classes that have other norms than Llama's, elsewhere or of another number, with what they come
// from.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include "engine/presets/huggingface/class_parts.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

Model cohere() {
  Model model = of_class("cohere", 256000, 8192, 40, 64, 0, 22528, 8192);
  model.norm = Norm::layernorm;
  model.norms_per_layer = 1;
  model.tie_word_embeddings = true;
  model.parallel_attention_mlp = true;
  return model;
}

void read_cohere(Model& model, const Keys& keys, Issues&) {
  keys.read(model.max_position_embeddings, {"model_max_length"});
  if (keys.flag("use_qk_norm", false)) model.qk_norm = QkNorm::full;  // one weight for each channel of each head
}

Model cohere2() {
  Model model = cohere();
  model.model_type = "cohere2";
  model.sliding_window = 4096;
  model.sliding_window_pattern = 4;
  model.nope_every = 4;
  return model;
}

Model glm() {
  Model model = of_class("glm", 151552, 4096, 40, 32, 2, 13696, 131072);
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

Model exaone4() {
  Model model = of_class("exaone4", 102400, 4096, 32, 32, 32, 16384, 2048);
  model.norm_placement = NormPlacement::post;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 4096;
  model.sliding_window_pattern = 4;
  model.nope_every = 4;
  return model;
}

Model olmo() {
  Model model = of_class("olmo", 50304, 4096, 32, 32, 0, 11008, 2048);
  model.norm = Norm::layernorm;
  model.norm_weight = false;
  return model;
}

Model olmo2() {
  Model model = of_class("olmo2", 50304, 4096, 32, 32, 0, 11008, 2048);
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
  Model model = of_class("gemma", 256000, 3072, 28, 16, 16, 24576, 8192);
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

void read_gemma3(Model& model, const Keys&, Issues&) {
  model.attn_logit_softcapping = 0;  // models/gemma3/modeling_gemma3.py: Gemma3Attention.forward does not hand it on
}

using enum HuggingFaceClass::AttentionBias;

const HuggingFaceClass classes[] = {
    {cohere(), all, read_cohere},
    {cohere2(), all, read_rope_where_sliding},
    {glm(), queries_keys_values},
    {glm4(), queries_keys_values},
    {exaone4(), none, read_rope_where_sliding},
    {olmo(), all, read_clip_qkv},
    {olmo2(), all},
    {olmo3(), all},
    {gemma(), all},
    {gemma2(), all},
    {vaultgemma(), all},
    {gemma3_text(), all, read_gemma3},
};

}  // namespace

std::span<const HuggingFaceClass> huggingface_classes_other_norms() { return classes; }

}  // namespace trainmem
