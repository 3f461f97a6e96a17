// Links of two configurations side by side: "v=1&a.model=llama2-7b&a.gpu=h100-sxm&b.seq=8192&end".
//
// Every part of the first configuration has the prefix "a."; of the second only what differs from the first stands
// there, with the prefix "b.". A preset of b replaces the whole section; an empty one means a section without preset.
#pragma once

#include <string>
#include <string_view>

#include "engine/codec/json_config.h"

namespace trainmem {

std::string format_comparison(const Config& a, const Config& b);

struct ReadComparison {
  ReadConfig a;
  ReadConfig b;
};

/// Does the link hold two configurations?
bool is_comparison(std::string_view link);
ReadComparison parse_comparison(std::string_view link);

}  // namespace trainmem
