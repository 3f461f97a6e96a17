#include "engine/presets/huggingface/classes.h"

namespace trainmem {

const HuggingFaceClass* find_huggingface_class(std::string_view model_type) {
  for (const auto group :
       {huggingface_classes_llama, huggingface_classes_other_norms, huggingface_classes_gpt, huggingface_classes_gemma4,
        huggingface_classes_experts, huggingface_classes_deepseek, huggingface_classes_hybrid,
        huggingface_classes_mamba, huggingface_classes_recurrent, huggingface_classes_sliding}) {
    for (const HuggingFaceClass& one : group())
      if (one.defaults.model_type == model_type) return &one;
  }
  return nullptr;
}

}  // namespace trainmem
