// Decimal numbers as text: read to the nearest double, and written as the shortest text that reads back.
#pragma once

#include <string>
#include <string_view>

namespace trainmem {

/// The double nearest to "-12", "0.5", "1e20" (digits, at most one point, at most one exponent); halves to even.
/// Infinity if it is too large.
double read_decimal(std::string_view text);

/// Whole numbers without exponent, others in the fewest digits that read back as the same number.
std::string number_text(double value);

}  // namespace trainmem
