// Part of reading a config.json: its keys, looked up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/presets/huggingface/config.h"
#include "engine/text/numbers.h"

namespace trainmem {

/// Of several names of one thing the first that has a value counts; null is none.
class HuggingFaceKeys {
 public:
  using Names = std::initializer_list<std::string_view>;

  explicit HuggingFaceKeys(const HuggingFaceConfig& config) : config_(config), asked_(config.size()) {}

  /// The value; null if no name has one.
  const HuggingFaceValue* find(Names names) const {
    for (const std::string_view name : names) {
      const HuggingFaceValue* value = find_key(name);
      if (value != nullptr && value->kind != HuggingFaceValue::Kind::null) return value;
    }
    return nullptr;
  }

  /// Whether the key stands there with the value null.
  bool is_null(std::string_view name) const {
    const HuggingFaceValue* value = find_key(name);
    return value != nullptr && value->kind == HuggingFaceValue::Kind::null;
  }

  // Each leaves the target as it is if no name has a value, or a text other than "auto".
  void read(std::int64_t& target, Names names) const {
    if (const auto* value = find_number(names); value != nullptr) target = whole(value->number);
  }
  void read(Size& target, Names names) const {
    if (const auto* value = find_number(names); value != nullptr) target = whole(value->number);
  }
  void read(double& target, Names names) const {
    if (const auto* value = find_number(names); value != nullptr) target = value->number;
  }
  void read(bool& target, Names names) const {
    if (const auto* value = find_number(names); value != nullptr) target = value->number != 0;
  }

  /// An issue for each text in the place of a number or switch.
  void report_texts(Issues& issues) const;

  /// Which of the keys have been looked at.
  const std::vector<bool>& asked() const { return asked_; }

  bool flag(std::string_view name, bool otherwise) const {
    bool value = otherwise;
    read(value, {name});
    return value;
  }

 private:
  using Entry = HuggingFaceConfig::value_type;

  /// What is beyond every whole number, infinity among it, becomes one that no field allows.
  static std::int64_t whole(double number) {
    constexpr auto limit = static_cast<double>(exact_limit);
    return static_cast<std::int64_t>(std::min(std::max(-limit, number), limit));
  }

  const HuggingFaceValue* find_number(Names names) const;

  const HuggingFaceValue* find_key(std::string_view name) const {
    for (std::size_t i = 0; i < config_.size(); ++i) {
      if (config_[i].first != name) continue;
      asked_[i] = true;
      return &config_[i].second;
    }
    return nullptr;
  }

  const HuggingFaceConfig& config_;
  mutable std::vector<bool> asked_;
  mutable std::vector<const Entry*> texts_;
};

/// A part of a class that has no forward: `path` is the key, with / between nested ones.
inline void report_not_modelled_key(Issues& issues, std::string path, std::string message) {
  issues.push_back({"not_yet_modelled", "/" + std::move(path), std::move(message), "Use a model without it."});
}

/// The kinds of the layers, where lists say them. After the window and before what single classes have otherwise.
void read_layer_types(Model& model, const HuggingFaceKeys& keys);

/// Which layers have experts, where a list says it.
void read_mlp_layer_types(Model& model, const HuggingFaceKeys& keys, Issues& issues);

}  // namespace trainmem
