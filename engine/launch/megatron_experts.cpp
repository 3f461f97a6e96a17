#include "engine/launch/megatron_experts.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "engine/config/text.h"
#include "engine/parameters/parameters.h"

namespace trainmem {
namespace {

using Pattern = std::string;  // a letter for each layer: 1 has experts, 0 has none

/// Reads a sum of Python's lists, each perhaps taken several times: "([0]*3+[1]*58)".
class PatternReader {
 public:
  explicit PatternReader(std::string_view text) : text_(text) {}

  /// Of another text, or of one that is longer than that many layers, not that many.
  Pattern read(std::size_t layers) {
    Pattern out;
    take('(');
    do {
      Pattern items;
      if (!take('[')) return {};
      while (!take(']')) {
        const bool has = take('1');
        if (!has && !take('0')) return {};
        items += has ? '1' : '0';
        take(',');
      }
      if (items.empty()) return {};
      for (std::int64_t times = take('*') ? number() : 1; times > 0 && out.size() <= layers; --times) out += items;
    } while (take('+') && out.size() <= layers);
    take(')');
    return text_.empty() ? out : Pattern{};
  }

 private:
  bool take(char c) {
    text_ = trimmed(text_);
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::int64_t number() {
    const std::string digits(text_.substr(0, text_.find_first_not_of("0123456789")));
    text_.remove_prefix(digits.size());
    return is_number_text(digits, true) ? std::strtoll(digits.c_str(), nullptr, 10) : 0;
  }

  std::string_view text_;
};

Pattern pattern_of(const Model& model) {
  Pattern out;
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) out += layer_kind(model, i).experts ? '1' : '0';
  return out;
}

/// Sets which layers have experts; false: the model's fields cannot say that.
bool set_pattern(const Pattern& pattern, Model& model) {
  const std::size_t first = pattern.find('1');
  if (first == Pattern::npos) return false;
  const std::size_t second = pattern.find('1', first + 1);
  const std::size_t every = second == Pattern::npos ? 1 : second - first;
  const Experts before = model.experts;
  model.experts.moe_layer_freq = static_cast<std::int64_t>(every);
  // A frequency says where the first one is, too.
  model.experts.first_k_dense_replace = every > 1 ? 0 : static_cast<std::int64_t>(first);
  if (pattern_of(model) == pattern) return true;
  model.experts = before;
  return false;
}

/// Whole numbers: experts in every n-th layer, from the first layer on.
void read_layers(SettingsReading& reading) {
  constexpr const char* key = "--moe-layer-freq";
  const std::string* value = reading.find(key);
  if (value == nullptr) return;
  Model& model = reading.out().config.model;
  const auto layers = static_cast<std::size_t>(model.num_hidden_layers.value());
  const std::int64_t every = reading.integer(key, 0);
  Pattern pattern(layers, '0');
  for (std::size_t i = 0; every > 0 && i < layers; i += static_cast<std::size_t>(every)) pattern[i] = '1';
  if (every == 0) pattern = PatternReader(*value).read(layers);
  if (!set_pattern(pattern, model)) return reading.leave(key, "Counted are experts in every layer.");
  reading.note(key, "/model/experts/first_k_dense_replace", std::to_string(model.experts.first_k_dense_replace));
  reading.note(key, "/model/experts/moe_layer_freq", std::to_string(model.experts.moe_layer_freq));
}

std::string layers_text(const Pattern& pattern) {
  std::string out;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t next = std::min(pattern.find_first_not_of(pattern[at], at), pattern.size());
    out += std::string(out.empty() ? "" : "+") + '[' + pattern[at] + "]*" + std::to_string(next - at);
    at = next;
  }
  return "'(" + out + ")'";
}

}  // namespace

void read_megatron_experts(SettingsReading& reading) {
  Config& config = reading.out().config;
  Experts& experts = config.model.experts;
  if (experts.num_experts == 0) return;
  if (experts.num_experts_per_tok == 0) experts.num_experts_per_tok = 2;
  if (experts.moe_intermediate_size == 0) experts.moe_intermediate_size = config.model.intermediate_size;
  // Its width is that of all shared experts together.
  std::int64_t& shared = experts.shared_expert_intermediate_size;
  if (shared > 0) {
    const bool several = experts.moe_intermediate_size > 0 && shared % experts.moe_intermediate_size == 0;
    experts.n_shared_experts = several ? shared / experts.moe_intermediate_size : 1;
    if (several) shared = 0;
  }
  read_layers(reading);
  // Megatron's own defaults: one after another, and tokens of all ranks gathered.
  config.recipe.grouped_experts = reading.find("--moe-grouped-gemm") != nullptr;
  if (reading.find("--moe-token-dispatcher-type") == nullptr)
    config.recipe.expert_dispatcher = ExpertDispatcher::all_gather;
  const std::string* coefficient = reading.find("--moe-aux-loss-coeff");
  const std::string* type = reading.find("--moe-router-load-balancing-type");
  const bool some = coefficient != nullptr && coefficient->find_first_of("123456789") != std::string::npos;
  if (!some || (type != nullptr && *type != "aux_loss")) return;
  reading.apply("--moe-aux-loss-coeff", "/model/experts/router_auxiliary_loss", "unmasked");
  if (type != nullptr)
    reading.apply("--moe-router-load-balancing-type", "/model/experts/router_auxiliary_loss", "unmasked");
}

void write_megatron_experts(const Config& config, Settings& out) {
  const Model& model = config.model;
  const Experts& experts = model.experts;
  if (experts.num_experts == 0) return;
  if (config.recipe.grouped_experts) out.push_back({"--moe-grouped-gemm", ""});
  const bool gathers = config.recipe.expert_dispatcher == ExpertDispatcher::all_gather;
  out.push_back({"--moe-token-dispatcher-type", gathers ? "allgather" : "alltoall"});
  const Pattern pattern = pattern_of(model);
  if (pattern.find('0') != Pattern::npos) out.push_back({"--moe-layer-freq", layers_text(pattern)});
  if (experts.n_shared_experts > 0)
    out.push_back({"--moe-shared-expert-intermediate-size", std::to_string(shared_expert_width(model))});
  if (experts.router_bias) {  // a bias is for sigmoids alone
    out.push_back({"--moe-router-score-function", "sigmoid"});
  } else if (model.latent_attention.kv_lora_rank > 0) {
    out.push_back({"--moe-router-pre-softmax", ""});
  }
  if (experts.router_auxiliary_loss != RouterAuxiliaryLoss::none) {  // 1e-2 is where its help says to start
    out.push_back({"--moe-router-load-balancing-type", "aux_loss"});
    out.push_back({"--moe-aux-loss-coeff", "1e-2"});
  }
}

}  // namespace trainmem
