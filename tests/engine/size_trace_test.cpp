#include "engine/size/size_trace.h"

#include "tests/catch.h"

using namespace trainmem;

namespace {

/// Inputs a = 6 and b = 4 of a trace that is active.
struct Traced {
  SizeTrace trace;
  ActivateTrace active{trace};
  Size a = trace.input(6);
  Size b = trace.input(4);
};

}  // namespace

TEST_CASE("size trace: equal polynomials are one line, however they were computed") {
  Traced t;
  CHECK(((t.a + t.b) * (t.a - t.b)).line() == (t.a * t.a - t.b * t.b).line());
  CHECK((t.a * t.b * 8 / 2).line() == (4 * t.b * t.a).line());
  CHECK((t.a * t.b / t.b).line() == t.a.line());
  CHECK((t.a - t.a).line() == 0);
  CHECK((t.a - t.a).recorded() == 0);
  CHECK(((t.a + t.b) * (t.a - t.b)).recorded() == 20);
  CHECK(t.trace.guards().empty());
}

TEST_CASE("size trace: without a trace a size is a number and nothing is noted") {
  const Size a = 7;
  CHECK(a * 3 + 1 == 22);
  CHECK((a * 3 + 1).line() == 0);
  CHECK(a % 4 == 3);
  CHECK(ceil_divide(a, 2) == 4);
  CHECK(minimum(a, 3) == 3);
}

TEST_CASE("size trace: what holds for all inputs of at least 2 needs no guard") {
  Traced t;
  CHECK(t.a * t.b > 1);
  CHECK(t.a * t.b >= t.b);
  CHECK(t.a * t.b * t.b > t.b);
  CHECK_FALSE(t.a * 2 == t.a);
  CHECK(maximum(t.a * t.b, t.a).line() == (t.a * t.b).line());
  CHECK(t.trace.guards().empty());
}

TEST_CASE("size trace: an answer that depends on the inputs is a guard, once") {
  Traced t;
  CHECK(t.a > t.b);
  CHECK(t.b < t.a);
  CHECK_FALSE(t.a <= t.b);
  REQUIRE(t.trace.guards().size() == 1);
  CHECK(t.trace.guards()[0].signs == Sign::negative);  // b - a: the later input comes with a plus
  CHECK(t.a >= t.b);
  CHECK(t.trace.guards().size() == 1);
}

TEST_CASE("size trace: a size that becomes a number is fixed") {
  Traced t;
  const std::int64_t number = t.a * 2;
  CHECK(number == 12);
  REQUIRE(t.trace.guards().size() == 1);
  CHECK(t.trace.guards()[0].signs == Sign::zero);
  const Polynomial& fixed = t.trace.polynomial(t.trace.guards()[0].line);
  CHECK(fixed == Polynomial{{0, -12}, {1, 2}});
}

TEST_CASE("size trace: a division with a remainder is an atom of at least 2, or a number") {
  Traced t;
  const Size quotient = t.a / t.b;
  CHECK(quotient.recorded() == 1);
  CHECK(quotient.line() == 0);
  CHECK(t.trace.guards().size() == 1);
  const Size rounded = round_up(t.a * t.b, 32);
  CHECK(rounded.recorded() == 32);
  CHECK(rounded.line() == 0);  // one multiple
  const Size larger = ceil_divide(t.a * t.b, 5);
  CHECK(larger.recorded() == 5);
  CHECK(larger.line() != 0);
  CHECK(ceil_divide(t.b * t.a, 5).line() == larger.line());
}
