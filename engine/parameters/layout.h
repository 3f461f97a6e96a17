// In which order and in which pieces each transformers class registers its parameters.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainmem {

enum class NormRegistration : std::uint8_t {
  after,        ///< attention, MLP, then the norms: Llama and most later classes
  before_each,  ///< norm, attention, norm, MLP: GPT-2, GPT-J, BLOOM, MPT, DBRX
  first,        ///< both norms, attention, MLP: GPT-NeoX
  after_each,   ///< attention, norm, MLP, norm: OPT
  mixer_last,   ///< MLP, both norms, attention: Bamba
  one,          ///< one norm, then attention, an MLP or experts: Nemotron-H
  between,      ///< attention, norms, MLP: Trinity
};

struct ParameterLayout {
  NormRegistration norms = NormRegistration::after;
  bool fused_query_key_value = false;
  bool fused_gate_up = false;             ///< dense MLP; routed experts are always fused
  bool transposed_linear = false;         ///< GPT-2's Conv1D holds (inputs, outputs)
  bool query_last = false;                ///< key, value, query
  bool output_first = false;              ///< output projection before query, key, value
  bool norms_on_outputs = false;          ///< the two norms stand on the outputs of attention and MLP
  bool final_norm_before_layers = false;  ///< registered between embeddings and layers
  bool router_after_experts = false;
  bool turned_experts = false;   ///< stacks of (experts, inputs, outputs)
  bool gated_attention = false;  ///< the query projection has a gate of the output beside each head
  bool output_gate = false;      ///< a projection of its own is the gate of the output
  bool gates_heads = false;      ///< with one number for each head
  bool shared_before_experts = false;
  bool norm_of_experts = false;  ///< on the sum of routed and shared experts
  bool sub_norms = false;        ///< norms before the last layers of attention and MLP
  bool flat_experts = false;     ///< three matrices of (experts * width, hidden)
};

/// The layout of a Hugging Face model_type; an unknown one is laid out as Llama.
ParameterLayout parameter_layout(std::string_view model_type);

}  // namespace trainmem
