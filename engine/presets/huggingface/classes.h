// The configuration classes of transformers: one entry for each model_type whose forward is known.
#pragma once

#include <span>
#include <string_view>

#include "engine/config.h"
#include "engine/issue.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {

struct HuggingFaceClass {
  /// Which projections of attention the key attention_bias gives a bias; none: the class has no such key.
  enum class AttentionBias { none, queries_keys_values, all };

  Model defaults;  ///< num_key_value_heads, head_dim and intermediate_size 0: derived from the other sizes
  AttentionBias attention_bias;
  /// Reads over the common keys what this class has otherwise, and refuses what of it is not modelled.
  void (*read)(Model& model, const HuggingFaceKeys& keys, Issues& issues) = nullptr;
};

/// The class of that name; null: unknown.
const HuggingFaceClass* find_huggingface_class(std::string_view model_type);

// Its groups, each in a file of its own.
std::span<const HuggingFaceClass> huggingface_classes_gpt();
std::span<const HuggingFaceClass> huggingface_classes_llama();
std::span<const HuggingFaceClass> huggingface_classes_other_norms();
std::span<const HuggingFaceClass> huggingface_classes_gemma4();
std::span<const HuggingFaceClass> huggingface_classes_experts();
std::span<const HuggingFaceClass> huggingface_classes_deepseek();
std::span<const HuggingFaceClass> huggingface_classes_hybrid();
std::span<const HuggingFaceClass> huggingface_classes_mamba();
std::span<const HuggingFaceClass> huggingface_classes_recurrent();
std::span<const HuggingFaceClass> huggingface_classes_sliding();

}  // namespace trainmem
