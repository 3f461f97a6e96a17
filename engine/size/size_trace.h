// What a run did with the sizes it was given: polynomials, and guards on them.
//
// A traced size is a polynomial with whole coefficients in atoms: the inputs, and results that are no polynomials of
// their operands (a division with a remainder, a maximum). Equal polynomials are one line, however they came about.
// A guard is a polynomial and the signs that it may have: the answers that the run got from comparisons. Inputs are
// at least 2, and so are the other atoms: numbers of 0 and 1 decide too much to stay open. torch.compile does the
// same: pytorch torch/fx/experimental/symbolic_shapes.py (ShapeEnv, guards, 0/1 specialization).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/size/size.h"

namespace trainmem {

/// A factor of monomials. Operands are lines; of an input, `left` is its index.
struct Atom {
  SizeOperation operation = SizeOperation::input;
  std::uint32_t left = 0;
  std::uint32_t right = 0;
};

/// A product of atoms: that of monomial `parent` and one more, the highest. Monomial 0 is the number one.
struct Monomial {
  std::uint32_t parent = 0;
  std::uint32_t atom = 0;
  std::int32_t degree = 0;
};

/// A multiple of a monomial.
struct Term {
  std::uint32_t monomial = 0;
  std::int64_t coefficient = 0;
  friend bool operator==(const Term&, const Term&) = default;
  friend bool operator<(const Term& a, const Term& b) {
    return a.monomial != b.monomial ? a.monomial < b.monomial : a.coefficient < b.coefficient;
  }
};

/// A sum of terms, by monomial; no coefficient is 0.
using Polynomial = std::vector<Term>;

struct Guard {
  std::uint32_t line = 0;
  Signs signs = 0;
};

class SizeTrace {
 public:
  static constexpr std::int64_t smallest_input = 2;

  SizeTrace();
  /// The next input; its value is at least smallest_input.
  Size input(std::int64_t value);
  Size operate(SizeOperation operation, const Size& a, const Size& b, std::int64_t value);
  void guard(const Size& a, const Size& b, Signs signs);

  const std::vector<Atom>& atoms() const { return atoms_; }
  const std::vector<Monomial>& monomials() const { return monomials_; }
  const std::vector<Guard>& guards() const { return guards_; }
  const Polynomial& polynomial(std::uint32_t line) const { return lines_[line]; }
  /// The polynomial of a size: its line, or a constant.
  Polynomial polynomial(const Size& size) const;
  Polynomial multiply(const Polynomial& a, const Polynomial& b);
  /// Whether a polynomial is at least `bound` for all atoms of at least 2; false if that is not seen.
  bool at_least(const Polynomial& polynomial, std::int64_t bound) const;

 private:
  std::uint32_t line_of(const Size& size);
  std::uint32_t intern(Polynomial polynomial);
  std::uint32_t monomial_of(const std::vector<std::uint32_t>& factors);
  const std::vector<std::uint32_t>& factors(std::uint32_t monomial) const { return factors_[monomial]; }
  std::uint32_t product(std::uint32_t monomial, std::uint32_t other);
  bool divide(const Polynomial& dividend, const Polynomial& divisor, Polynomial& quotient);
  Size of(Polynomial polynomial, std::int64_t value);
  Size atom(SizeOperation operation, std::uint32_t left, std::uint32_t right, std::int64_t value);
  Size compute(SizeOperation operation, std::uint32_t left, std::uint32_t right, std::int64_t value);
  void add_guard(Polynomial polynomial, Signs signs);

  std::vector<Atom> atoms_;
  std::vector<Monomial> monomials_{{}};
  std::vector<std::vector<std::uint32_t>> factors_{{}};  ///< atoms of each monomial, in order
  std::vector<Polynomial> lines_;
  std::vector<Guard> guards_;
  std::map<Polynomial, std::uint32_t> known_lines_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_monomials_;
  std::map<std::array<std::uint32_t, 3>, Size> known_results_;
  std::map<std::uint32_t, std::size_t> guard_of_line_;
  std::uint32_t inputs_ = 0;
};

/// a + factor * b.
Polynomial sum(const Polynomial& a, const Polynomial& b, std::int64_t factor = 1);

/// Makes a trace the one that sizes are noted in, while in scope.
class ActivateTrace {
 public:
  explicit ActivateTrace(SizeTrace& trace);
  ~ActivateTrace();
  ActivateTrace(const ActivateTrace&) = delete;
  ActivateTrace& operator=(const ActivateTrace&) = delete;

 private:
  SizeTrace* previous_;
};

}  // namespace trainmem
