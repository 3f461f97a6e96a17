#include "engine/config/layer_types.h"

#include <algorithm>

#include "engine/text/issue_text.h"
#include "engine/text/nearest_words.h"

namespace trainmem {
namespace {

constexpr const char* type_words[] = {
    "full_attention", "sliding_attention", "linear_attention", "conv", "mamba", "mlp", "moe", "hybrid"};
constexpr std::int64_t longest_pattern = 1024;  // as many layers as a model may have

/// One item of a list: `times` a word, or a list in parentheses.
struct Item {
  std::int64_t times = 1;
  std::string_view word;
  bool is_list = false;
};

/// Takes the first item off a list. Its parentheses close.
Item take_item(std::string_view& list) {
  Item item;
  std::size_t digits = 0;
  std::int64_t number = 0;
  for (; digits < list.size() && list[digits] >= '0' && list[digits] <= '9'; ++digits)
    number = std::min<std::int64_t>(number * 10 + (list[digits] - '0'), longest_pattern + 1);
  if (digits > 0 && digits < list.size() && list[digits] == '*') {
    item.times = number;
    list.remove_prefix(digits + 1);
  }
  std::size_t end = 0;
  for (int depth = 0; end < list.size() && (depth > 0 || list[end] != ','); ++end)
    depth += list[end] == '(' ? 1 : list[end] == ')' ? -1 : 0;
  item.word = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  item.is_list = item.word.size() > 2 && item.word.front() == '(' && item.word.back() == ')';
  if (item.is_list) item.word = item.word.substr(1, item.word.size() - 2);
  return item;
}

std::int64_t length(std::string_view list) {
  std::int64_t sum = 0;
  while (!list.empty()) {
    const Item item = take_item(list);
    sum += item.times * (item.is_list ? length(item.word) : 1);
  }
  return sum;
}

/// Of a normal list, and a layer within it.
LayerType at(std::string_view list, std::int64_t layer) {
  LayerType type = LayerType::full_attention;
  while (!list.empty()) {
    const Item item = take_item(list);
    const std::int64_t once = item.is_list ? length(item.word) : 1;
    if (layer < item.times * once) {
      if (item.is_list && once > 0) return at(item.word, layer % once);
      find_layer_type(item.word, type);
      return type;
    }
    layer -= item.times * once;
  }
  return type;
}

/// Appends the layers of a list; false, with an issue, where an item is none.
bool expand(std::string_view list, int depth, std::vector<LayerType>& out, Issue& issue) {
  const bool ends_open = !list.empty() && list.back() == ',';
  while (!list.empty()) {
    const Item item = take_item(list);
    LayerType type{};
    const std::size_t begin = out.size();
    if (item.is_list && depth < 8) {
      if (!expand(item.word, depth + 1, out, issue)) return false;
    } else if (find_layer_type(item.word, type)) {
      out.push_back(type);
    } else {
      std::vector<std::string_view> known(std::begin(type_words), std::end(type_words));
      const std::vector<std::string> nearest = nearest_words(known, item.word, 1);
      issue = {"unknown_word", "", "layer_types has " + in_quotes(item.word) + ", which is no kind of layer.",
               nearest.empty() ? "" : "Did you mean " + in_quotes(nearest[0]) + "? "};
      return false;
    }
    const auto once = static_cast<std::int64_t>(out.size() - begin);
    if (item.times < 1 || static_cast<std::int64_t>(begin) + item.times * once > longest_pattern) {
      issue = {"out_of_range", "", "layer_types has no layers, or more than a model may have, in one of its items.",
               ""};
      return false;
    }
    for (std::int64_t i = once; i < item.times * once; ++i)
      out.push_back(out[begin + static_cast<std::size_t>(i - once)]);
  }
  if (ends_open) issue = {"unknown_word", "", "layer_types ends with a comma.", ""};
  return !ends_open;
}

using Place = std::vector<LayerType>::const_iterator;

/// How many times the first `unit` layers stand there in a row.
std::ptrdiff_t repeats(Place begin, Place end, std::ptrdiff_t unit) {
  std::ptrdiff_t same = unit;
  while (begin + same < end && begin[same] == begin[same - unit]) ++same;
  return same / unit;
}

/// What repeats most comes first, in as short a unit as does.
std::string shortest(Place begin, Place end) {
  std::string text;
  while (begin < end) {
    std::ptrdiff_t unit = 1;
    std::ptrdiff_t times = repeats(begin, end, 1);
    for (std::ptrdiff_t longer = 2; longer <= (end - begin) / 2; ++longer) {
      const std::ptrdiff_t of_longer = repeats(begin, end, longer);
      if (of_longer > 1 && longer * of_longer > unit * times) unit = longer, times = of_longer;
    }
    if (!text.empty()) text += ',';
    if (times > 1) text += std::to_string(times) + "*";
    text += unit == 1 ? std::string(word(*begin)) : "(" + shortest(begin, begin + unit) + ")";
    begin += unit * times;
  }
  return text;
}

}  // namespace

const char* word(LayerType type) { return type_words[static_cast<std::size_t>(type)]; }

bool find_layer_type(std::string_view word, LayerType& type) {
  if (word == "attention") word = "full_attention";  // models/granitemoehybrid, bamba, nemotron_h
  for (std::size_t i = 0; i < std::size(type_words); ++i) {
    if (word != type_words[i]) continue;
    type = static_cast<LayerType>(i);
    return true;
  }
  return false;
}

std::string layer_types_text(std::vector<LayerType> pattern) {
  const auto layers = static_cast<std::ptrdiff_t>(pattern.size());
  for (std::ptrdiff_t period = 1; period < layers; ++period) {
    if (layers % period != 0 || repeats(pattern.begin(), pattern.end(), period) * period != layers) continue;
    pattern.resize(static_cast<std::size_t>(period));
    break;
  }
  return shortest(pattern.begin(), pattern.end());
}

bool normalize_layer_types(std::string_view given, std::string& text, Issue& issue) {
  std::vector<LayerType> pattern;
  if (!expand(given, 0, pattern, issue)) {
    issue.hint += "Give kinds of layers as \"3*linear_attention,full_attention\" does, of:";
    for (const char* each : type_words) issue.hint += std::string(each == type_words[0] ? " " : ", ") + each;
    issue.hint += ".";
    return false;
  }
  text = layer_types_text(std::move(pattern));
  return true;
}

std::int64_t layer_types_period(const Model& model) { return length(model.layer_types); }

LayerType layer_type(const Model& model, std::int64_t layer) {
  const std::int64_t period = layer_types_period(model);
  if (period > 0) return at(model.layer_types, layer % period);
  const std::int64_t every = model.sliding_window_pattern;
  if (model.sliding_window > 0 && (every <= 1 || (layer + 1) % every != 0)) return LayerType::sliding_attention;
  return LayerType::full_attention;
}

Size head_dim_of(const Model& model, LayerType type) {
  const bool global = type == LayerType::full_attention && model.global_head_dim > 0;
  return global ? Size(model.global_head_dim) : model.head_dim;
}

Size heads_of(const Model& model, LayerType type) {
  const bool sliding = type == LayerType::sliding_attention && model.num_sliding_attention_heads > 0;
  return sliding ? Size(model.num_sliding_attention_heads) : model.num_attention_heads;
}

// models/gemma4/configuration_gemma4.py: Gemma4TextConfig.__post_init__.
Size key_value_heads_of(const Model& model, LayerType type) {
  const bool global = type == LayerType::full_attention && model.num_global_key_value_heads > 0;
  return global ? Size(model.num_global_key_value_heads) : model.num_key_value_heads;
}

Size value_head_dim_of(const Model& model, LayerType type) {
  const LatentAttention& l = model.latent_attention;
  return l.kv_lora_rank == 0 && l.v_head_dim > 0 ? Size(l.v_head_dim) : head_dim_of(model, type);
}

// models/mimo_v2_flash/modeling_mimo_v2_flash.py: MiMoV2FlashAttention.
bool has_sinks(const Model& model, LayerType type) {
  return model.attention_sinks && (type == LayerType::sliding_attention || model.model_type != "mimo_v2_flash");
}

bool slides_apart(const Model& model) {
  return model.global_head_dim > 0 || model.num_global_key_value_heads > 0 || model.attention_k_eq_v ||
         model.num_sliding_attention_heads > 0 ||
         has_sinks(model, LayerType::sliding_attention) != has_sinks(model, LayerType::full_attention);
}

bool shares_keys(const Model& model, std::int64_t layer) {
  return model.num_kv_shared_layers > 0 && layer >= model.num_hidden_layers - model.num_kv_shared_layers;
}

std::int64_t layers_before(const Model& model, LayerType type, std::int64_t layer) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < layer; ++i) sum += layer_type(model, i) == type ? 1 : 0;
  return sum;
}

bool has_layer_type(const Model& model, LayerType type) {
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    if (layer_type(model, layer) == type) return true;
  }
  return false;
}

bool has_mamba(const Model& model) {
  return has_layer_type(model, LayerType::mamba) || has_layer_type(model, LayerType::hybrid);
}

}  // namespace trainmem
