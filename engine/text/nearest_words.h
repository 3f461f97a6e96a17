// "Did you mean": the words of a list that lie nearest to one that is not in it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainmem {

/// At most `count` of the words, nearest first, none that has little in common with `word`.
std::vector<std::string> nearest_words(std::span<const std::string_view> words, std::string_view word, int count);

/// Single-character insertions, deletions and replacements that turn one word into the other; case and the
/// separators - _ . / and space count as equal.
int edit_distance(std::string_view a, std::string_view b);

}  // namespace trainmem
