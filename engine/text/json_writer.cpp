#include "engine/text/json_writer.h"

#include "engine/text/numbers.h"
#include "engine/text/utf8.h"

namespace trainmem {
namespace {

/// How many characters at the start stand in JSON as they are.
std::size_t plain_run(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && text[i] >= ' ' && text[i] <= '~' && text[i] != '"' && text[i] != '\\') ++i;
  return i;
}

}  // namespace

JsonWriter& JsonWriter::open_object() {
  before_value();
  out_ += '{';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close_object() {
  out_ += '}';
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::open_array() {
  before_value();
  out_ += '[';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close_array() {
  out_ += ']';
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  text(name);
  out_ += ':';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  before_value();
  out_ += '"';
  while (!value.empty()) {
    const std::size_t run = plain_run(value);
    out_ += value.substr(0, run);
    value.remove_prefix(run);
    if (!value.empty()) write_character(value);
  }
  out_ += '"';
  return *this;
}

void JsonWriter::write_character(std::string_view& rest) {
  constexpr const char* hex = "0123456789abcdef";
  const char c = rest[0];
  const int length = utf8_length(rest);
  if (length == 0) {
    out_ += '?';
  } else if (c == '"' || c == '\\') {
    out_ += '\\';
    out_ += c;
  } else if (length == 1) {
    out_ += "\\u00";
    out_ += hex[static_cast<unsigned char>(c) >> 4U];
    out_ += hex[static_cast<unsigned char>(c) & 15U];
  } else {
    out_ += rest.substr(0, static_cast<std::size_t>(length));
  }
  rest.remove_prefix(static_cast<std::size_t>(length == 0 ? 1 : length));
}

JsonWriter& JsonWriter::integer(std::int64_t value) { return raw(std::to_string(value)); }

JsonWriter& JsonWriter::number(double value) { return raw(value - value == 0 ? number_text(value) : "null"); }

JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  before_value();
  out_ += json;
  return *this;
}

void JsonWriter::before_value() {
  if (!first_) out_ += ',';
  first_ = false;
}

}  // namespace trainmem
