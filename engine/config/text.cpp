#include "engine/config/text.h"

#include <cstdlib>

#include "engine/text/issue_text.h"
#include "engine/text/numbers.h"

namespace trainmem {

bool is_number_text(std::string_view text, bool whole) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && (text[i] >= '0' && text[i] <= '9')) ++i;
    return i > start;
  };
  if (i < text.size() && text[i] == '-') ++i;
  if (!digits()) return false;
  if (whole) return i == text.size() && text.size() <= 18;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (!digits()) return false;
  }
  if (i < text.size() && text[i] == 'e') {
    ++i;
    if (i < text.size() && text[i] == '-') ++i;
    if (!digits()) return false;
  }
  return i == text.size() && text.size() <= 32;
}

void store_text(const Field& field, const std::string& value, const Store& to) {
  const Member member = field.in(to.config);
  const std::string found = in_quotes(value);
  switch (member.type()) {
    case FieldType::integer:
      if (!is_number_text(value, true)) return to.wrong_type(field, found);
      return to.integer(field, std::strtoll(value.c_str(), nullptr, 10));
    case FieldType::number:
      if (!is_number_text(value, false)) return to.wrong_type(field, found);
      return to.number(field, std::strtod(value.c_str(), nullptr));
    case FieldType::boolean:
      if (value != "0" && value != "1" && value != "false" && value != "true") return to.wrong_type(field, found);
      member.boolean() = value == "1" || value == "true";
      return;
    case FieldType::enumeration:
    case FieldType::text: return to.word(field, value);
  }
}

std::string value_text(const Field& field, const Config& config) {
  const Member member = field.in(config);
  switch (member.type()) {
    case FieldType::integer: return std::to_string(member.integer());
    case FieldType::number: return number_text(member.number());
    case FieldType::boolean: return member.boolean() ? "1" : "0";
    case FieldType::enumeration: return member.word();
    case FieldType::text: return member.text();
  }
  return {};
}

std::string value_words(const Field& field, const Config& config) {
  const Member member = field.in(config);
  if (member.type() == FieldType::boolean) return member.boolean() ? "true" : "false";
  return value_text(field, config);
}

}  // namespace trainmem
