#include "engine/text/nearest_words.h"

#include <algorithm>

#include "engine/sort.h"

namespace trainmem {
namespace {

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  if (c == '_' || c == '.' || c == '/' || c == ' ') return '-';
  return c;
}

/// Distance of a word from a candidate; a candidate that begins with the word, or contains it, is near.
int closeness(std::string_view candidate, std::string_view word) {
  const int distance = edit_distance(candidate, word);
  const int extra = static_cast<int>(candidate.size()) - static_cast<int>(word.size());
  if (word.size() < 3 || extra <= 0 || distance != extra) return 2 * distance;
  const bool prefix = edit_distance(candidate.substr(0, word.size()), word) == 0;
  return prefix ? 1 : std::min(2 * distance, 5);
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (folded(a[i - 1]) == folded(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest_words(std::span<const std::string_view> words, std::string_view word, int count) {
  struct Candidate {
    int closeness;
    std::string_view text;
  };
  if (word.size() > 64) return {};
  std::vector<Candidate> candidates;
  const int limit = std::max(5, static_cast<int>(word.size()));
  for (std::string_view text : words) {
    const int distance = closeness(text, word);
    if (distance <= limit) candidates.push_back({distance, text});
  }
  const auto closer = [&](Index a, Index b) { return candidates[a].closeness < candidates[b].closeness; };
  std::vector<std::string> nearest;
  for (const Index i : sorted_indices(candidates.size(), closer)) {
    if (static_cast<int>(nearest.size()) == count) break;
    nearest.emplace_back(candidates[i].text);
  }
  return nearest;
}

}  // namespace trainmem
