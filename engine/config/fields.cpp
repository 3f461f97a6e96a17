#include "engine/config/fields.h"

#include <cstring>

#include "engine/text/numbers.h"

namespace trainmem {

const char* name(FieldType type) {
  switch (type) {
    case FieldType::integer: return "integer";
    case FieldType::number: return "number";
    case FieldType::boolean: return "boolean";
    case FieldType::enumeration: return "enumeration";
    case FieldType::text: return "text";
  }
  return "text";
}

int Member::choice() const {
  std::uint8_t narrow = 0;
  int wide = 0;
  if (size_ == sizeof(narrow)) {
    std::memcpy(&narrow, address_, sizeof(narrow));
    return narrow;
  }
  std::memcpy(&wide, address_, sizeof(wide));
  return wide;
}

void Member::choose(int index) const {
  const auto narrow = static_cast<std::uint8_t>(index);
  if (size_ == sizeof(narrow)) {
    std::memcpy(address_, &narrow, sizeof(narrow));
  } else {
    std::memcpy(address_, &index, sizeof(index));
  }
}

std::string_view Field::name() const {
  const std::string_view whole = path;
  return whole.substr(whole.rfind('/') + 1);
}

namespace {

/// Most fields differ early, so the length of the text is not asked for.
bool equal(const char* text, std::string_view other) {
  for (const char c : other) {
    if (*text == '\0' || *text != c) return false;
    ++text;
  }
  return *text == '\0';
}

}  // namespace

const Field* find_field_by_path(std::string_view path) {
  for (const Field& field : config_fields()) {
    if (equal(field.path, path)) return &field;
  }
  return nullptr;
}

const Field* find_field_by_key(std::string_view key) {
  for (const Field& field : config_fields()) {
    if (equal(field.key, key)) return &field;
  }
  return nullptr;
}

bool same(const Field& field, const Config& a, const Config& b) {
  const Member left = field.in(a);
  const Member right = field.in(b);
  switch (left.type()) {
    case FieldType::integer: return left.integer() == right.integer();
    case FieldType::number: return left.number() == right.number();
    case FieldType::boolean: return left.boolean() == right.boolean();
    case FieldType::enumeration: return left.choice() == right.choice();
    case FieldType::text: return left.text() == right.text();
  }
  return false;
}

void copy(const Field& field, const Config& from, Config& to) {
  const Member source = field.in(from);
  const Member target = field.in(to);
  switch (source.type()) {
    case FieldType::integer: target.integer() = source.integer(); break;
    case FieldType::number: target.number() = source.number(); break;
    case FieldType::boolean: target.boolean() = source.boolean(); break;
    case FieldType::enumeration: target.choose(source.choice()); break;
    case FieldType::text: target.text() = source.text(); break;
  }
}

int find_word(Words words, std::string_view text) {
  for (int i = 0; i < words.count; ++i) {
    if (words.first[i] != nullptr && text == words.first[i]) return i;
  }
  return -1;
}

std::string allowed_values(const Field& field) {
  const Config defaults;
  const Member member = field.in(defaults);
  switch (member.type()) {
    case FieldType::integer:
      return "a whole number from " + number_text(field.minimum) + " to " + number_text(field.maximum);
    case FieldType::number: return "a number from " + number_text(field.minimum) + " to " + number_text(field.maximum);
    case FieldType::boolean: return "true or false";
    case FieldType::text: return "a text of at most " + number_text(field.maximum) + " characters";
    case FieldType::enumeration: break;
  }
  std::string list = "one of: ";
  bool first = true;
  for (const char* word : member.words()) {
    if (word == nullptr) continue;
    if (!first) list += ", ";
    list += word;
    first = false;
  }
  return list;
}

}  // namespace trainmem
