// Numbers as text.
#pragma once

#include <cstdint>
#include <string>

namespace trainmem {

/// The largest whole number up to which JavaScript, and so the page, has every whole number exactly: 2^53.
inline constexpr std::int64_t exact_limit = std::int64_t{1} << 53;

/// Whole numbers without exponent, others in the fewest digits that read back as the same number.
std::string number_text(double value);

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t value);

/// With one decimal, rounded to nearest: "78.2". Not negative.
std::string tenths_text(double value);

/// Bytes as GiB without the unit, with one decimal, thousands whole and grouped: "78.2", "1,051". Not negative.
std::string gib_text(std::int64_t bytes);

}  // namespace trainmem
