// JSON text as a small tree, read strictly: no duplicate keys, bounded depth, numbers kept exact.
//
// Only json_tree.cpp knows the JSON parser; everything else walks this tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/issue.h"
#include "engine/text/json_writer.h"

namespace trainmem {

enum class JsonKind : std::uint8_t { null, boolean, integer, number, text, array, object };

struct JsonTree {
  JsonKind kind = JsonKind::null;
  bool boolean = false;
  std::int64_t integer = 0;        ///< kind integer: the exact value
  double number = 0;               ///< kind integer or number
  std::string text;                ///< kind text
  std::string key;                 ///< of a member of an object
  std::vector<JsonTree> children;  ///< members of an object, items of an array

  const JsonTree* find(std::string_view member) const;  ///< null if there is none
};

struct JsonText {
  JsonTree root;
  Issues issues;
  bool readable = true;  ///< false: the text is not JSON, or nested too deeply; the tree is a part of it
};

JsonText parse_json(std::string_view text);

/// The same JSON, without white space.
void write_tree(const JsonTree& tree, JsonWriter& out);

}  // namespace trainmem
