#include "engine/validation/rules.h"

#include <algorithm>

namespace trainmem {

namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

/// The greatest divisor below, or of a length the greatest multiple.
Fix fix_of(std::string_view path, std::int64_t value, std::int64_t divisor) {
  if (path == "/recipe/sequence_length")
    return {std::string(path), text(std::max(value / divisor, std::int64_t{1}) * divisor)};
  if (path.substr(0, 8) != "/recipe/" || path == "/recipe/context_parallel" || value <= 0) return {};
  std::int64_t below = std::min(divisor, value);
  while (value % below != 0) --below;
  return {std::string(path), text(below)};
}

/// Divisors of the value that lie around the one that was given.
std::string divisors_hint(std::int64_t value, std::int64_t near) {
  std::int64_t below = 0;
  std::int64_t above = 0;
  for (std::int64_t candidate = near; candidate >= 1 && below == 0; --candidate) {
    if (value % candidate == 0) below = candidate;
  }
  for (std::int64_t candidate = near; candidate <= value && candidate <= 2 * near && above == 0; ++candidate) {
    if (value % candidate == 0) above = candidate;
  }
  return text(value) + " is divisible by " + text(below) + (above > 0 ? " and by " + text(above) : "") + ".";
}

}  // namespace

void Rules::not_divisible(const char* path, const std::string& what, std::int64_t value,
                          const std::string& divisor_name, std::int64_t divisor) {
  if (divisor <= 0 || value % divisor == 0) return;
  issues_.push_back({"not_divisible", path,
                     what + " " + text(value) + " is not divisible by " + divisor_name + " " + text(divisor) + ".",
                     divisors_hint(value, divisor), fix_of(path, value, divisor)});
}

void Rules::contradiction(const char* path, const std::string& message, const std::string& hint, const Fix& fix) {
  issues_.push_back({"contradiction", path, message, hint, fix});
}

}  // namespace trainmem
