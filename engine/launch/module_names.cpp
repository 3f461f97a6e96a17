#include "engine/launch/module_names.h"

#include "engine/text/list.h"

namespace trainmem {
namespace {

struct ModuleName {
  std::string_view module;
  std::string_view projections;
};

constexpr ModuleName modules[] = {
    {"q_proj", "q"},
    {"k_proj", "k"},
    {"v_proj", "v"},
    {"q_a_proj", "q"},
    {"q_b_proj", "q"},
    {"kv_a_proj_with_mqa", "k,v"},
    {"kv_b_proj", "k,v"},
    {"qkv_proj", "q,k,v"},
    {"query_key_value", "q,k,v"},
    {"Wqkv", "q,k,v"},
    {"c_attn", "q,k,v"},
    {"o_proj", "o"},
    {"output_proj", "o"},
    {"out_proj", "o"},
    {"dense", "o"},
    {"gate_proj", "gate"},
    {"up_proj", "up"},
    {"down_proj", "down"},
    {"gate_up_proj", "gate,up"},
    {"w1", "gate"},
    {"w3", "up"},
    {"w2", "down"},
    {"c_fc", "up"},
    {"c_proj", "down"},
    {"fc1", "up"},
    {"fc2", "down"},
    {"Wi", "gate,up"},
    {"Wo", "down,o"},  // of ModernBERT: two layers have that name
    {"dense_h_to_4h", "up"},
    {"dense_4h_to_h", "down"},
};

constexpr ModuleName of_rwkv[] = {{"key", "k,up"}, {"value", "v,down"}, {"receptance", "other"}, {"output", "o"}};

}  // namespace

std::string_view projections_of_module(std::string_view module, std::string_view model_type) {
  if (module == "c_proj" && has_item("gpt2,gpt_bigcode,openai-gpt", model_type))
    return "down,o";           // two layers have that name
  if (model_type == "rwkv") {  // layers of attention and MLP have names in common
    for (const ModuleName& known : of_rwkv)
      if (known.module == module) return known.projections;
  }
  for (const ModuleName& known : modules)
    if (known.module == module) return known.projections;
  return {};
}

}  // namespace trainmem
