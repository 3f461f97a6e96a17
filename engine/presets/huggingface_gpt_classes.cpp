// Defaults of the configuration classes of GPT's kind: layer norms and an MLP without gate, most with biases.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include "engine/presets/huggingface_gpt_classes.h"

#include "engine/presets/huggingface_class_sizes.h"

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

Model gpt_bigcode() {
  Model model = gpt2();
  model.model_type = "gpt_bigcode";
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.num_key_value_heads = 1;
  return model;
}

Model gpt_neo() {
  Model model = layernorm_gpt("gpt_neo");
  sizes(model, 50257, 2048, 24, 16, 0, 0, 2048);
  model.hidden_act = Activation::gelu_new;
  model.tie_word_embeddings = true;
  model.positions = Positions::learned;
  model.attention_bias = false;
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

Model codegen() {
  Model model = gptj();
  model.model_type = "codegen";
  model.partial_rotary_factor = 0.25;
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

const Model classes[] = {gpt2(), gpt_bigcode(), gpt_neo(), gpt_neox(), gptj(), codegen(),
                         opt(),  bloom(),       mpt(),     falcon(),   phi(),  starcoder2()};

}  // namespace

const Model* huggingface_gpt_defaults(std::string_view model_type) {
  for (const Model& model : classes) {
    if (model.model_type == model_type) return &model;
  }
  return nullptr;
}

}  // namespace trainmem
