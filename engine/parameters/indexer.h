// The indexer of DeepSeek's sparse attention: which keys a query attends to.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainmem {

struct Indexer {
  std::int64_t heads = 0;  ///< 0: the class has none
  std::int64_t head_dim = 0;
  std::int64_t chosen = 0;      ///< keys that each query attends to
  bool returns_choice = false;  ///< each block gives it to the next one
};

/// Of a Hugging Face model_type: index_n_heads, index_head_dim and index_topk of transformers
/// models/deepseek_v32/configuration_deepseek_v32.py and glm_moe_dsa/configuration_glm_moe_dsa.py, which the published
/// models have.
constexpr Indexer indexer_of(std::string_view model_type) {
  if (model_type == "deepseek_v32") return {64, 128, 2048};
  if (model_type == "glm_moe_dsa") return {32, 128, 2048, true};
  return {};
}

}  // namespace trainmem
