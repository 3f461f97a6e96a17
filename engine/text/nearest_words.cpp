#include "engine/text/nearest_words.h"

#include <algorithm>
#include <climits>

#include "engine/sort.h"

namespace trainmem {
namespace {

constexpr int unrelated = INT_MAX;

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  if (c == '_' || c == '.' || c == '/' || c == ' ') return '-';
  return c;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int length(std::string_view text) { return static_cast<int>(text.size()); }

/// Folded, and without separators.
std::string squeezed(std::string_view word) {
  std::string text;
  for (const char c : word) {
    if (folded(c) != '-') text += folded(c);
  }
  return text;
}

/// Its runs of letters and of digits: "Llama-3.1-8B" is llama, 3, 1, 8, b.
std::vector<std::string> parts(std::string_view word) {
  std::vector<std::string> found;
  char before = '-';
  for (const char unfolded : word) {
    const char c = folded(unfolded);
    if (c != '-') {
      if (before == '-' || is_digit(c) != is_digit(before)) found.emplace_back();
      found.back() += c;
    }
    before = c;
  }
  return found;
}

/// Edits between two parts; `unrelated` unless they are equal or, of letters, mostly alike. "seq" is short for
/// "seqlen".
int distance_of_part(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  if (is_digit(a[0]) || is_digit(b[0])) return unrelated;
  const std::size_t shorter = std::min(a.size(), b.size());
  if (shorter >= 3 && a.substr(0, shorter) == b.substr(0, shorter)) return 1;
  const int edits = edit_distance(a, b);
  return 3 * edits <= length(b) ? edits : unrelated;
}

/// Takes the part that is nearest to `part` out of `others`. Edits between them.
int take_like(std::string_view part, std::vector<std::string>& others) {
  int nearest = unrelated;
  std::size_t at = 0;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const int edits = distance_of_part(others[i], part);
    if (edits >= nearest) continue;
    nearest = edits;
    at = i;
  }
  if (nearest != unrelated) others.erase(others.begin() + static_cast<std::ptrdiff_t>(at));
  return nearest;
}

/// Parts that only one of them has count one each, and three where both have some: then the names differ, where
/// otherwise one says more, and they must begin alike or share a number such as 4090. An edit counts as much as two
/// parts.
int distance_of_parts(std::string_view candidate, std::string_view word) {
  std::vector<std::string> rest = parts(candidate);
  const std::vector<std::string> wanted = parts(word);
  if (rest.empty() || wanted.empty()) return unrelated;
  const bool begin_alike = distance_of_part(rest[0], wanted[0]) != unrelated;
  int missing = 0;
  int edits = 0;
  int shared = 0;
  bool telling = false;  // more than single letters and digits in common
  bool numbered = false;
  for (const std::string& part : wanted) {
    const int found = take_like(part, rest);
    if (found == unrelated) {
      ++missing;
      continue;
    }
    edits += found;
    shared += length(part);
    telling = telling || part.size() > 1;
    numbered = numbered || (is_digit(part[0]) && part.size() > 2);
  }
  const int extra = static_cast<int>(rest.size());
  const int both = std::min(missing, extra);
  const int whole = length(squeezed(word));
  const int enough = both > 0 && !numbered ? whole : std::min(length(squeezed(candidate)), whole);
  if (!telling || 2 * shared < enough) return unrelated;
  if (both > 0 && !begin_alike && !numbered) return unrelated;
  return missing + extra + 2 * both + 2 * edits + (both > 0 && !begin_alike ? 2 : 0);
}

int distance_of_spelling(const std::string& candidate, const std::string& word) {
  const int distance = 2 * edit_distance(candidate, word);
  return distance <= std::max(5, 2 * length(word) / 3) ? distance : unrelated;
}

/// A candidate that begins with the word, or contains it, is near whatever else it says. Spelling decides only where no
/// part is alike.
int distance_between(std::string_view candidate, std::string_view word) {
  const std::string text = squeezed(candidate);
  const std::string wanted = squeezed(word);
  if (text == wanted) return 0;
  const std::size_t at = wanted.size() < 3 ? std::string::npos : text.find(wanted);
  if (at == 0) return 1;
  int distance = distance_of_parts(candidate, word);
  if (distance == unrelated) distance = distance_of_spelling(text, wanted);
  return at == std::string::npos ? distance : std::min(distance, 5);
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return folded(x) == folded(y); });
}

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
    int distance;
    std::string_view text;
  };
  if (word.size() > 64) return {};
  std::vector<Candidate> candidates;
  int nearest_distance = unrelated - 1;
  for (std::string_view text : words) {
    const int distance = distance_between(text, word);
    if (distance != unrelated) candidates.push_back({distance, text});
    nearest_distance = std::min(nearest_distance, distance);
  }
  const int limit = nearest_distance == 0 ? 0 : nearest_distance + 1;
  const auto closer = [&](Index a, Index b) { return candidates[a].distance < candidates[b].distance; };
  std::vector<std::string> nearest;
  for (const Index i : sorted_indices(candidates.size(), closer)) {
    if (static_cast<int>(nearest.size()) == count || candidates[i].distance > limit) break;
    nearest.emplace_back(candidates[i].text);
  }
  return nearest;
}

}  // namespace trainmem
