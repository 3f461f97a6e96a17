#include "engine/codec/comparison.h"

#include <algorithm>
#include <vector>

#include "engine/codec/link.h"
#include "engine/config/fields.h"
#include "engine/config/text.h"
#include "engine/presets/apply.h"

namespace trainmem {

namespace {

std::string_view section_of(const Field& field) {
  const std::string_view path = std::string_view(field.path).substr(1);
  return path.substr(0, path.find('/'));
}

const std::string& preset_of(const Config& config, std::string_view section) {
  if (section == "model") return config.model_preset;
  return section == "gpu" ? config.gpu_preset : config.recipe_preset;
}

/// Does b's section start afresh, from its own preset or framework, in place of a's?
bool starts_afresh(const Config& a, const Config& b, std::string_view section) {
  if (preset_of(a, section) != preset_of(b, section)) return true;
  return section == "recipe" && b.recipe_preset.empty() &&
         (a.recipe.framework != b.recipe.framework || a.recipe.torchtitan_release != b.recipe.torchtitan_release);
}

std::string part(const Field& field, const Config& config) {
  const std::string value = value_text(field, config);
  const bool free_text = field.in(config).type() == FieldType::text;
  return std::string(field.key) + "=" + (free_text ? percent_encode(value) : value);
}

/// One part of a link: "seq=8192".
struct Part {
  std::string_view key;
  std::string_view text;
};

std::vector<Part> split(std::string_view link) {
  const std::size_t hash = link.find_first_of("#?");
  if (hash != std::string_view::npos) link.remove_prefix(hash + 1);
  std::vector<Part> parts;
  while (!link.empty()) {
    const std::string_view piece = link.substr(0, link.find('&'));
    link.remove_prefix(piece.size() == link.size() ? piece.size() : piece.size() + 1);
    parts.push_back({piece.substr(0, piece.find('=')), piece});
  }
  return parts;
}

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

std::string_view section_of_key(std::string_view key) {
  if (key == "model" || key == "gpu" || key == "recipe") return key;
  const Field* field = find_field_by_key(key);
  return field == nullptr ? std::string_view{} : section_of(*field);
}

}  // namespace

std::string format_comparison(const Config& a, const Config& b) {
  std::string link = "v=" + std::to_string(link_version);
  const std::string first = format_link(a);
  const std::vector<Part> parts_of_a = split(first);
  for (const Part& one : parts_of_a) {
    if (one.key != "v" && one.key != "end") link += "&a." + std::string(one.text);
  }
  const auto a_says = [&](std::string_view key) {
    return std::any_of(parts_of_a.begin(), parts_of_a.end(), [&](const Part& one) { return one.key == key; });
  };
  const Config base = link_base_of(b);
  for (const std::string_view section : {"model", "gpu", "recipe"}) {
    const std::string& preset = preset_of(b, section);
    if (preset != preset_of(a, section)) link += "&b." + std::string(section) + "=" + percent_encode(preset);
  }
  for (const Field& field : config_fields()) {
    // What a does not say b has from its own presets: the sequence length follows the model.
    const Config& before = starts_afresh(a, b, section_of(field)) || !a_says(field.key) ? base : a;
    const bool names_framework =
        field.name() == "framework" && starts_afresh(a, b, "recipe") && b.recipe_preset.empty();
    if (!same(field, before, b) || names_framework) link += "&b." + part(field, b);
  }
  return link + "&end";
}

bool is_comparison(std::string_view link) {
  for (const Part& one : split(link)) {
    if (begins(one.key, "a.") || begins(one.key, "b.")) return true;
  }
  return false;
}

ReadComparison parse_comparison(std::string_view link) {
  if (!refused_link(link).empty()) {
    const ReadConfig refused = parse_link(link);
    return {refused, refused};
  }
  const std::vector<Part> parts = split(link);
  std::vector<std::string_view> afresh;  // sections of b that a's parts say nothing about
  bool b_has_recipe = false;
  for (const Part& one : parts) b_has_recipe = b_has_recipe || (begins(one.text, "b.recipe=") && one.text.size() > 9);
  bool a_has_recipe = false;
  for (const Part& one : parts) a_has_recipe = a_has_recipe || one.key == "a.recipe";
  for (const Part& one : parts) {
    if (one.key == "b.model") afresh.emplace_back("model");
    if (one.key == "b.gpu") afresh.emplace_back("gpu");
    const bool drops_recipe = one.key == "b.recipe" || (one.key == "b.fw" && !a_has_recipe && !b_has_recipe);
    if (drops_recipe) afresh.emplace_back("recipe");
  }
  const auto replaced = [&](std::string_view key) {
    for (const std::string_view section : afresh) {
      if (section_of_key(key) == section) return true;
    }
    for (const Part& one : parts) {
      if (begins(one.key, "b.") && one.key.substr(2) == key) return true;
    }
    return false;
  };
  std::string a;
  std::string b;
  const auto add = [](std::string& to, std::string_view text) {
    if (!to.empty()) to += '&';
    to += text;
  };
  for (const Part& one : parts) {
    if (begins(one.key, "a.")) {
      add(a, one.text.substr(2));
      if (!replaced(one.key.substr(2))) add(b, one.text.substr(2));
    } else if (begins(one.key, "b.")) {
      const bool no_preset = one.text == "b.model=" || one.text == "b.gpu=" || one.text == "b.recipe=";
      if (!no_preset) add(b, one.text.substr(2));
    } else {
      add(a, one.text);
      add(b, one.text);
    }
  }
  return {parse_link(a), parse_link(b)};
}

}  // namespace trainmem
