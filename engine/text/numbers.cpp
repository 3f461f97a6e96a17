#include "engine/text/numbers.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace trainmem {

std::string number_text(double value) {
  if (value != value) return "nan";
  if (value - value != 0) return value < 0 ? "-infinity" : "infinity";
  char digits[64];
  const char* end = nlohmann::detail::to_chars(digits, digits + sizeof(digits), value);
  std::string text(digits, static_cast<std::size_t>(end - digits));
  if (text.size() > 2 && text.compare(text.size() - 2, 2, ".0") == 0) text.resize(text.size() - 2);
  const std::size_t plus = text.find("e+");
  if (plus != std::string::npos) text.erase(plus + 1, 1);
  return text;
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t sign = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string tenths_text(double value) {
  const std::int64_t tenths = std::llround(value * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string gib_text(std::int64_t bytes) {
  const double gib = static_cast<double>(bytes) / (1 << 30);
  return gib < 999.95 ? tenths_text(gib) : grouped(std::llround(gib));
}

}  // namespace trainmem
