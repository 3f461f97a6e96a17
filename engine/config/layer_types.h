// The pattern of a model's layers: what kind each is, where they are not all alike.
//
// Written as a list whose items may be counted and put together, "5*mamba,full_attention,4*mamba" or
// "2*(conv,full_attention)", in the words of transformers' layer_types. The pattern begins with the first layer and
// is repeated until there are num_hidden_layers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config.h"
#include "engine/issue.h"

namespace trainmem {

/// What a layer mixes tokens with; mlp and moe are layers of Nemotron-H, which mix none, hybrid is attention and Mamba
/// beside each other (Falcon-H1).
enum class LayerType : std::uint8_t {
  full_attention,
  sliding_attention,
  linear_attention,
  conv,
  mamba,
  mlp,
  moe,
  hybrid
};
inline constexpr int layer_type_count = 8;

const char* word(LayerType type);

/// The kind that transformers' configurations call `word`; false: there is none.
bool find_layer_type(std::string_view word, LayerType& type);

/// The shortest text of a pattern, in which it has whole periods only. Of a pattern that a text describes, the one
/// text that stands for it.
std::string layer_types_text(std::vector<LayerType> pattern);

/// Puts the text of a pattern into its shortest form; an issue, without path, if it is none.
bool normalize_layer_types(std::string_view given, std::string& text, Issue& issue);

/// Layers after which a normal pattern begins again; 0: there is no pattern.
std::int64_t layer_types_period(const Model& model);

/// The kind of layer `layer`, which counts from 0: as the pattern says, or without one as
/// sliding_window_pattern does.
LayerType layer_type(const Model& model, std::int64_t layer);

/// Of the heads of an attention of this kind; how many there are, and how many key and value heads.
Size head_dim_of(const Model& model, LayerType type);
Size heads_of(const Model& model, LayerType type);
Size key_value_heads_of(const Model& model, LayerType type);

/// Size of a value's head.
Size value_head_dim_of(const Model& model, LayerType type);

/// Whether an attention of this kind has sinks.
bool has_sinks(const Model& model, LayerType type);

/// Whether layers with a window have tensors of other shapes than those without.
bool slides_apart(const Model& model);

/// Whether layer `layer` takes the keys and values of an earlier one.
bool shares_keys(const Model& model, std::int64_t layer);

/// Layers of this kind among those before layer `layer`.
std::int64_t layers_before(const Model& model, LayerType type, std::int64_t layer);

/// Whether some layer of the model is of this kind.
bool has_layer_type(const Model& model, LayerType type);

/// Whether some layer has Mamba in it.
bool has_mamba(const Model& model);

}  // namespace trainmem
