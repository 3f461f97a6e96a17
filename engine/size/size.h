// A size that remembers how it was computed.
//
// Shapes and the dimensions of a configuration are Sizes. A Size's value is an ordinary integer. While a SizeTrace is
// active (size_trace.h), arithmetic on the inputs of the trace is noted as well, and so is every answer that a run
// gets from a comparison: a schedule (peak/schedule.h) can then compute the sizes for other inputs, and knows for which
// inputs the run would have gone the same way. A Size that turns into a plain number fixes its value. Without a
// trace nothing is noted.
#pragma once

#include <concepts>
#include <cstdint>

namespace trainmem {

enum class SizeOperation : std::uint8_t { input, add, subtract, multiply, divide, ceil_divide, maximum };

/// Signs that a difference may have; a comparison that was true or false allows one or two of them.
using Signs = std::uint8_t;
struct Sign {
  static constexpr Signs negative = 1;
  static constexpr Signs zero = 2;
  static constexpr Signs positive = 4;
};

/// The page's module prices no schedules: there sizes are plain numbers, and smaller (engine/CMakeLists.txt).
#if defined(TRAINMEM_PLAIN_SIZES)
inline constexpr bool sizes_are_traced = false;
#else
inline constexpr bool sizes_are_traced = true;
#endif

/// The line of a trace that a size carries, if sizes are traced.
template <bool traced>
struct SizeLine {
  std::uint32_t line = 0;
  constexpr void set(std::uint32_t to) { line = to; }
};
template <>
struct SizeLine<false> {
  static constexpr std::uint32_t line = 0;
  constexpr void set(std::uint32_t /*to*/) {}
};

class Size {
 public:
  constexpr Size() = default;
  template <std::integral Number>
  constexpr Size(Number value) : value_(value) {}  // NOLINT(google-explicit-constructor): a plain number is a size
  /// A value that line `line` of the active trace computes.
  constexpr Size(std::int64_t value, std::uint32_t line) : value_(value) { line_.set(line); }

  /// The number. A traced size is fixed: the schedule holds for this value of it alone.
  constexpr std::int64_t value() const {
    if constexpr (sizes_are_traced)
      if (line_.line != 0) fix();
    return value_;
  }
  constexpr operator std::int64_t() const { return value(); }  // NOLINT(google-explicit-constructor): the same
  /// The number for the record (names, the tape); whoever decides by it breaks schedules.
  constexpr std::int64_t recorded() const { return value_; }
  /// Line of the active trace that computed this size; 0: a constant.
  constexpr std::uint32_t line() const { return line_.line; }

  static constexpr Size make(SizeOperation operation, const Size& a, const Size& b, std::int64_t value) {
    if constexpr (sizes_are_traced)
      if ((a.line() | b.line()) != 0) return traced(operation, a, b, value);
    return value;
  }
  /// Tells the trace that a - b has one of `signs`; returns `answer`.
  static constexpr bool answered(bool answer, const Size& a, const Size& b, Signs signs) {
    if constexpr (sizes_are_traced)
      if ((a.line() | b.line()) != 0) guard(a, b, answer ? signs : static_cast<Signs>(~signs & 7U));
    return answer;
  }

  template <class Number>
  constexpr Size& operator+=(const Number& other);
  template <class Number>
  constexpr Size& operator*=(const Number& other);
  template <class Number>
  constexpr Size& operator/=(const Number& other);

 private:
  void fix() const;
  static Size traced(SizeOperation operation, const Size& a, const Size& b, std::int64_t value);
  static void guard(const Size& a, const Size& b, Signs signs);

  std::int64_t value_ = 0;  ///< stands first: fields of a configuration are written by its address (config/fields.h)
  [[no_unique_address]] SizeLine<sizes_are_traced> line_;
};

/// A Size and a whole number, or two Sizes.
template <class A, class B>
concept SizeOperands = (std::same_as<A, Size> && (std::same_as<B, Size> || std::integral<B>)) ||
                       (std::integral<A> && std::same_as<B, Size>);

template <class A, class B>
requires SizeOperands<A, B>
constexpr Size operator+(const A& left, const B& right) {
  const Size a = left;
  const Size b = right;
  return Size::make(SizeOperation::add, a, b, a.recorded() + b.recorded());
}

template <class A, class B>
requires SizeOperands<A, B>
constexpr Size operator-(const A& left, const B& right) {
  const Size a = left;
  const Size b = right;
  return Size::make(SizeOperation::subtract, a, b, a.recorded() - b.recorded());
}

template <class A, class B>
requires SizeOperands<A, B>
constexpr Size operator*(const A& left, const B& right) {
  const Size a = left;
  const Size b = right;
  return Size::make(SizeOperation::multiply, a, b, a.recorded() * b.recorded());
}

/// Rounds down; the divisor is positive.
template <class A, class B>
requires SizeOperands<A, B>
constexpr Size operator/(const A& left, const B& right) {
  const Size a = left;
  const Size b = right;
  return Size::make(SizeOperation::divide, a, b, a.recorded() / b.recorded());
}

template <class A, class B>
requires SizeOperands<A, B>
constexpr Size operator%(const A& left, const B& right) { return left - left / right * right; }

constexpr Size ceil_divide(const Size& a, const Size& b) {
  return Size::make(SizeOperation::ceil_divide, a, b, (a.recorded() + b.recorded() - 1) / b.recorded());
}

constexpr Size maximum(const Size& a, const Size& b) {
  return Size::make(SizeOperation::maximum, a, b, a.recorded() > b.recorded() ? a.recorded() : b.recorded());
}

constexpr Size minimum(const Size& a, const Size& b) { return a + b - maximum(a, b); }

constexpr Size round_up(const Size& a, const Size& multiple) { return ceil_divide(a, multiple) * multiple; }

template <class A, class B>
requires SizeOperands<A, B>
constexpr bool operator==(const A& left, const B& right) {
  const Size a = left;
  const Size b = right;
  return Size::answered(a.recorded() == b.recorded(), a, b, Sign::zero);
}

template <class A, class B>
requires SizeOperands<A, B>
constexpr bool operator<(const A& left, const B& right) {
  const Size a = left;
  const Size b = right;
  return Size::answered(a.recorded() < b.recorded(), a, b, Sign::negative);
}

template <class A, class B>
requires SizeOperands<A, B>
constexpr bool operator>(const A& left, const B& right) {
  const Size a = left;
  const Size b = right;
  return Size::answered(a.recorded() > b.recorded(), a, b, Sign::positive);
}

template <class A, class B>
requires SizeOperands<A, B>
constexpr bool operator<=(const A& left, const B& right) { return !(left > right); }

template <class A, class B>
requires SizeOperands<A, B>
constexpr bool operator>=(const A& left, const B& right) { return !(left < right); }

template <class Number>
constexpr Size& Size::operator+=(const Number& other) {
  return *this = *this + other;
}

template <class Number>
constexpr Size& Size::operator*=(const Number& other) {
  return *this = *this * other;
}

template <class Number>
constexpr Size& Size::operator/=(const Number& other) {
  return *this = *this / other;
}

}  // namespace trainmem
