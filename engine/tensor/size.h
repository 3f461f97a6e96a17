// A size that remembers how it was computed.
//
// Shapes are made of Size. Its value is an ordinary integer. While a SizeTrace is active, every operation also
// appends one line to it, so that a run's sizes can be computed again for other inputs without running it: that
// is what a schedule (engine/schedule.h) evaluates. Without a trace nothing is appended.
#pragma once

#include <cstdint>
#include <vector>

namespace trainmem {

enum class SizeOperation : std::uint8_t { constant, input, add, subtract, multiply, divide, ceil_divide, maximum };

/// The lines of a trace: line i computes value i from two earlier lines.
struct SizeTrace {
  struct Line {
    SizeOperation operation = SizeOperation::constant;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::int64_t value = 0;  ///< constant: its value; input: its index; otherwise the value when traced
  };
  std::vector<Line> lines;
  std::uint32_t append(SizeOperation operation, std::uint32_t left, std::uint32_t right, std::int64_t value);
};

/// The trace that operations append to; null outside schedule building.
SizeTrace*& active_size_trace();

class Size {
 public:
  constexpr Size() = default;
  constexpr Size(std::int64_t value)
      : value_(value) {}  // NOLINT(google-explicit-constructor): a plain number is a size
  constexpr Size(std::int64_t value, std::uint32_t line) : value_(value), line_(line) {}

  constexpr std::int64_t value() const { return value_; }
  /// Line of the active trace that computed this size plus one; 0: a constant.
  constexpr std::uint32_t line() const { return line_; }

  friend Size operator+(const Size& a, const Size& b) { return make(SizeOperation::add, a, b, a.value_ + b.value_); }
  friend Size operator-(const Size& a, const Size& b) {
    return make(SizeOperation::subtract, a, b, a.value_ - b.value_);
  }
  friend Size operator*(const Size& a, const Size& b) {
    return make(SizeOperation::multiply, a, b, a.value_ * b.value_);
  }
  /// Rounds down; b > 0.
  friend Size operator/(const Size& a, const Size& b) { return make(SizeOperation::divide, a, b, a.value_ / b.value_); }
  friend Size ceil_divide(const Size& a, const Size& b) {
    return make(SizeOperation::ceil_divide, a, b, (a.value_ + b.value_ - 1) / b.value_);
  }
  friend Size maximum(const Size& a, const Size& b) {
    return make(SizeOperation::maximum, a, b, a.value_ > b.value_ ? a.value_ : b.value_);
  }
  friend constexpr bool operator==(const Size& a, const Size& b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(const Size& a, const Size& b) { return a.value_ != b.value_; }

 private:
  static Size make(SizeOperation operation, const Size& a, const Size& b, std::int64_t value) {
    if (active_size_trace() == nullptr || (a.line_ == 0 && b.line_ == 0)) return Size(value);
    return traced(operation, a, b, value);
  }
  static Size traced(SizeOperation operation, const Size& a, const Size& b, std::int64_t value);

  std::int64_t value_ = 0;
  std::uint32_t line_ = 0;
};

inline Size round_up(const Size& a, const Size& multiple) { return ceil_divide(a, multiple) * multiple; }

}  // namespace trainmem
