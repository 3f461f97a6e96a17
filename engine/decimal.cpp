#include "engine/decimal.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <nlohmann/detail/conversions/to_chars.hpp>
#include <vector>

namespace trainmem {
namespace {

constexpr std::int64_t beyond_double =
    400;  // powers of ten; the largest double is below 1e309, the smallest above 1e-324

/// The digits of a number 0.d1d2d3... * 10^point, without zeros in front and behind.
struct Decimal {
  std::vector<std::uint8_t> digits;
  std::int64_t point = 0;

  void trim() {
    while (!digits.empty() && digits.back() == 0) digits.pop_back();
  }
  void twice() {
    int carry = 0;
    for (std::size_t i = digits.size(); i-- > 0;) {
      const int value = digits[i] * 2 + carry;
      digits[i] = static_cast<std::uint8_t>(value % 10);
      carry = value / 10;
    }
    if (carry > 0) {
      digits.insert(digits.begin(), static_cast<std::uint8_t>(carry));
      ++point;
    }
    trim();
  }
  void halve() {
    int rest = 0;
    digits.push_back(0);
    for (std::uint8_t& digit : digits) {
      const int value = rest * 10 + digit;
      digit = static_cast<std::uint8_t>(value / 2);
      rest = value % 2;
    }
    if (digits.front() == 0) {
      digits.erase(digits.begin());
      --point;
    }
    trim();
  }
  /// Rounded down; below 10^18.
  std::int64_t whole() const {
    std::int64_t value = 0;
    for (std::size_t i = 0; static_cast<std::int64_t>(i) < point; ++i)
      value = value * 10 + (i < digits.size() ? digits[i] : 0);
    return value;
  }
  /// The nearest whole number, halves to even; below 10^18.
  std::int64_t rounded() const {
    const std::int64_t below = whole();
    if (point < 0 || point >= static_cast<std::int64_t>(digits.size())) return below;
    const auto first = static_cast<std::size_t>(point);
    const bool half = digits[first] == 5 && first + 1 == digits.size();
    return below + (half ? below % 2 : digits[first] >= 5 ? 1 : 0);
  }
};

Decimal read_digits(std::string_view text) {
  Decimal number;
  bool after_point = false;
  std::size_t i = 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      after_point = true;
      continue;
    }
    if (!number.digits.empty() || text[i] != '0') {
      number.digits.push_back(static_cast<std::uint8_t>(text[i] - '0'));
      if (!after_point) ++number.point;
    } else if (after_point) {
      --number.point;
    }
  }
  number.trim();
  if (i == text.size()) return number;
  ++i;
  const bool negative = text[i] == '-';
  if (text[i] == '-' || text[i] == '+') ++i;
  std::int64_t exponent = 0;
  for (; i < text.size(); ++i) exponent = std::min<std::int64_t>(exponent * 10 + (text[i] - '0'), 1'000'000'000);
  number.point += negative ? -exponent : exponent;
  return number;
}

double magnitude(std::string_view text) {
  Decimal number = read_digits(text);
  if (number.digits.empty() || number.point < -beyond_double) return 0;
  if (number.point > beyond_double) return std::numeric_limits<double>::infinity();
  const std::int64_t scale = number.point - static_cast<std::int64_t>(number.digits.size());
  if (number.digits.size() <= 15 && scale >= -22 && scale <= 22) {  // both factors are exact: one rounding
    double power = 1;
    for (std::int64_t i = 0; i < std::abs(scale); ++i) power *= 10;
    number.point -= scale;
    const auto digits = static_cast<double>(number.whole());
    return scale < 0 ? digits / power : digits * power;
  }
  // Scaled by powers of two to a whole number of 53 bits, or fewer where doubles have fewer.
  constexpr std::int64_t least_of_53_bits = std::int64_t{1} << 52;
  int exponent = 0;
  for (; number.point > 16 || number.whole() >= 2 * least_of_53_bits; ++exponent) number.halve();
  for (; exponent > -1074 && number.whole() < least_of_53_bits; --exponent) number.twice();
  return std::ldexp(static_cast<double>(number.rounded()), exponent);
}

}  // namespace

double read_decimal(std::string_view text) {
  return !text.empty() && text[0] == '-' ? -magnitude(text.substr(1)) : magnitude(text);
}

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

}  // namespace trainmem
