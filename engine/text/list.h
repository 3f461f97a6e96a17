// Comma-separated lists: "q,k,v".
#pragma once

#include <string_view>

namespace trainmem {

/// Calls act(item) for every item of the list, in order. An empty text has one empty item.
template <class Act>
void for_each_item(std::string_view list, Act act) {
  while (true) {
    const std::size_t comma = list.find(',');
    act(list.substr(0, comma));
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

/// Whether an item of the list is `word`.
inline bool has_item(std::string_view list, std::string_view word) {
  bool found = false;
  for_each_item(list, [&](std::string_view item) { found = found || item == word; });
  return found;
}

}  // namespace trainmem
