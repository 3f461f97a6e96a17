#include "engine/config/values.h"

#include <cmath>

#include "engine/text/issue_text.h"
#include "engine/text/nearest_words.h"
#include "engine/text/numbers.h"
#include "engine/text/utf8.h"

namespace trainmem {

void Store::integer(const Field& field, std::int64_t value) const {
  const auto as_number = static_cast<double>(value);
  if (as_number < field.minimum || as_number > field.maximum) {
    out_of_range(field, std::to_string(value));
  } else {
    field.in(config).integer() = value;
  }
}

void Store::number(const Field& field, double value) const {
  if (!std::isfinite(value) || value < field.minimum || value > field.maximum) {
    out_of_range(field, number_text(value));
  } else {
    field.in(config).number() = value + 0.0;  // -0 becomes 0
  }
}

void Store::word(const Field& field, std::string_view value) const {
  const Member member = field.in(config);
  if (member.type() == FieldType::text) {
    std::string normal(value);
    Issue issue;
    if (member.normalize() != nullptr && !member.normalize()(value, normal, issue)) {
      issue.path = field.path;
      issues.push_back(std::move(issue));
      return;
    }
    value = normal;
    if (static_cast<double>(value.size()) < field.minimum || static_cast<double>(value.size()) > field.maximum ||
        !acceptable_text(value)) {
      issues.push_back({"out_of_range", field.path,
                        std::string(field.name()) + " is too long, too short, or has characters that cannot be shown.",
                        "Give " + allowed_values(field) + "."});
    } else {
      member.text() = std::string(value);
    }
    return;
  }
  const int index = find_word(member.words(), value);
  if (index >= 0) {
    member.choose(index);
    return;
  }
  std::vector<std::string_view> known;
  for (const char* each : member.words()) {
    if (each != nullptr) known.emplace_back(each);
  }
  const std::vector<std::string> nearest = nearest_words(known, value, 1);
  std::string hint = nearest.empty() ? "Give " : "Did you mean " + in_quotes(nearest[0]) + "? It may be ";
  issues.push_back({"unknown_word", field.path, std::string(field.name()) + " cannot be " + in_quotes(value) + ".",
                    hint + allowed_values(field) + "."});
}

void Store::wrong_type(const Field& field, const std::string& found) const {
  issues.push_back({"wrong_type", field.path, std::string(field.name()) + " cannot be " + found + ".",
                    "Give " + allowed_values(field) + "."});
}

void Store::out_of_range(const Field& field, const std::string& found) const {
  issues.push_back({"out_of_range", field.path, std::string(field.name()) + " cannot be " + found + ".",
                    "Give " + allowed_values(field) + "."});
}

bool acceptable_text(std::string_view text) {
  while (!text.empty()) {
    const int length = utf8_length(text);
    if (length == 0 || static_cast<unsigned char>(text[0]) < 0x20U || text[0] == 0x7F) return false;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

void complete(Config& config) {
  Model& model = config.model;
  if (model.num_key_value_heads == 0) model.num_key_value_heads = model.num_attention_heads;
  if (model.head_dim == 0 && model.num_attention_heads > 0)
    model.head_dim = model.hidden_size / model.num_attention_heads;
  if (model.positions == Positions::learned && model.learned_positions == 0) {
    model.learned_positions = model.max_position_embeddings;
  }
}

bool operator==(const Config& a, const Config& b) {
  if (a.model_preset != b.model_preset || a.gpu_preset != b.gpu_preset || a.recipe_preset != b.recipe_preset)
    return false;
  for (const Field& field : config_fields()) {
    if (!same(field, a, b)) return false;
  }
  return true;
}

}  // namespace trainmem
