#include "engine/decimal.h"

#include <cstdlib>
#include <limits>
#include <string>

#include "tests/catch.h"

using trainmem::read_decimal;

TEST_CASE("A decimal number is read to the nearest double, as the C library reads it") {
  for (const char* text : {"0",
                           "-0",
                           "0.0",
                           "0.1",
                           "-12",
                           "3352.3",
                           "1E5",
                           "1e+5",
                           "1e-3",
                           "123456789012345678901234567890",
                           "9007199254740993",
                           "9007199254740992.5",
                           "9007199254740991.5",
                           "4503599627370496.5",
                           "4503599627370497.5",
                           "18446744073709551616",
                           "2.2250738585072011e-308",
                           "4.9e-324",
                           "2.4703282292062327e-324",
                           "2.4703282292062328e-324",
                           "1.7976931348623157e308",
                           "0.000000000000000000000000000000001"}) {
    INFO(text);
    CHECK(read_decimal(text) == std::strtod(text, nullptr));
  }
}

TEST_CASE("A decimal number beyond the doubles is infinite, one that is too small is zero") {
  CHECK(read_decimal("1e999") == std::numeric_limits<double>::infinity());
  CHECK(read_decimal("-1.7976931348623159e308") == -std::numeric_limits<double>::infinity());
  CHECK(read_decimal("1e-99999999999999999999") == 0);
  CHECK(read_decimal("0e99999999999999999999") == 0);
}

TEST_CASE("A number with thousands of digits is read exactly") {
  const std::string zeros(3000, '0');
  CHECK(read_decimal("9007199254740993." + zeros + "1") == 9007199254740994.0);
  CHECK(read_decimal("9007199254740993." + zeros) == 9007199254740992.0);
  CHECK(read_decimal("0." + zeros + "1e3001") == 1.0);
}
