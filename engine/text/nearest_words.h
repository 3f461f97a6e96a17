// "Did you mean": the words of a list that lie nearest to one that is not in it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainmem {

/// A reader of an input searches near words for its first so many issues: a text of thousands of unknown words would
/// take a second.
inline constexpr std::size_t issues_with_words = 12;

/// At most `count` of the words, nearest first: none that has little in common with `word`, and none much further away
/// than the nearest. Names of parts count more than their spelling: of "h100-80gb-sxm" "h100-sxm" is nearer than
/// "a100-80gb-sxm", one letter away.
std::vector<std::string> nearest_words(std::span<const std::string_view> words, std::string_view word, int count);

/// Equal but for case and for which of the separators - _ . / and space stand between their parts?
bool same_word(std::string_view a, std::string_view b);

/// Single-character insertions, deletions and replacements that turn one word into the other; case and the
/// separators - _ . / and space count as equal.
int edit_distance(std::string_view a, std::string_view b);

}  // namespace trainmem
