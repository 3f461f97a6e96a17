// The two small models that tests divide, fold and recompute: shapes whose sums can be done by hand.
#pragma once

#include "engine/config.h"

/// A GPT as Megatron-LM trains it: 16 heads of 64, all of its dropouts leave masks.
inline trainmem::Model small_gpt(std::int64_t layers) {
  using namespace trainmem;
  Model model;
  model.hidden_size = 1024;
  model.intermediate_size = 4096;
  model.num_attention_heads = model.num_key_value_heads = 16;
  model.head_dim = 64;
  model.num_hidden_layers = layers;
  model.vocab_size = 51200;
  model.gated_mlp = false;
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.norm = Norm::layernorm;
  model.norm_bias = model.attention_bias = model.attention_output_bias = model.mlp_bias = true;
  model.positions = Positions::learned;
  model.learned_positions = 1024;
  model.hidden_dropout = model.attention_dropout = model.embedding_dropout = 0.1;
  return model;
}

/// A Llama of 16 heads of 64.
inline trainmem::Model small_llama(std::int64_t layers) {
  trainmem::Model model;
  model.hidden_size = 1024;
  model.intermediate_size = 2816;
  model.num_attention_heads = model.num_key_value_heads = 16;
  model.head_dim = 64;
  model.num_hidden_layers = layers;
  model.vocab_size = 32000;
  model.max_position_embeddings = 2048;
  return model;
}

/// Megatron-Core as its scripts run it: bf16 with fp32 main weights, flash attention, fused kernels.
inline trainmem::Recipe megatron_recipe() {
  using namespace trainmem;
  Recipe recipe;
  recipe.framework = Framework::megatron;
  recipe.precision = Precision::bf16_mixed;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  recipe.loss = Loss::vocabulary_parallel;
  recipe.fused_norm = recipe.fused_mlp = recipe.fused_rope = true;
  recipe.sequence_length = 1024;
  return recipe;
}
