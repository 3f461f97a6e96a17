// Writes JSON text piece by piece, without white space; commas come by themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trainmem {

class JsonWriter {
 public:
  JsonWriter& open_object();
  JsonWriter& close_object();
  JsonWriter& open_array();
  JsonWriter& close_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& text(std::string_view value);  ///< bytes that are not UTF-8 become '?'
  JsonWriter& integer(std::int64_t value);
  JsonWriter& number(double value);
  JsonWriter& boolean(bool value);
  JsonWriter& raw(std::string_view json);  ///< JSON that is already written

  std::string take() { return std::move(out_); }

 private:
  void before_value();
  void write_character(std::string_view& rest);

  std::string out_;
  bool first_ = true;
};

}  // namespace trainmem
