#include "engine/size/size_trace.h"

#include <algorithm>
#include <cassert>

namespace trainmem {

namespace {

SizeTrace*& active() {
  static thread_local SizeTrace* trace = nullptr;
  return trace;
}

bool is_constant(const Polynomial& polynomial) {
  return polynomial.empty() || (polynomial.size() == 1 && polynomial[0].monomial == 0);
}

Signs mirrored(Signs signs) {
  return static_cast<Signs>((signs & Sign::zero) | ((signs & Sign::negative) != 0 ? Sign::positive : 0) |
                            ((signs & Sign::positive) != 0 ? Sign::negative : 0));
}

}  // namespace

ActivateTrace::ActivateTrace(SizeTrace& trace) : previous_(active()) { active() = &trace; }
ActivateTrace::~ActivateTrace() { active() = previous_; }

void Size::fix() const { guard(*this, value_, Sign::zero); }

Size Size::traced(SizeOperation operation, const Size& a, const Size& b, std::int64_t value) {
  assert(active() != nullptr);
  return active()->operate(operation, a, b, value);
}

void Size::guard(const Size& a, const Size& b, Signs signs) {
  assert(active() != nullptr);
  active()->guard(a, b, signs);
}

Polynomial sum(const Polynomial& a, const Polynomial& b, std::int64_t factor) {
  Polynomial result;
  result.reserve(a.size() + b.size());
  std::size_t i = 0;
  for (const Term& term : b) {
    for (; i < a.size() && a[i].monomial < term.monomial; ++i) result.push_back(a[i]);
    std::int64_t coefficient = factor * term.coefficient;
    if (i < a.size() && a[i].monomial == term.monomial) coefficient += a[i++].coefficient;
    if (coefficient != 0) result.push_back({term.monomial, coefficient});
  }
  for (; i < a.size(); ++i) result.push_back(a[i]);
  return result;
}

SizeTrace::SizeTrace() { intern({}); }

Size SizeTrace::input(std::int64_t value) {
  assert(value >= smallest_input);
  atoms_.push_back({SizeOperation::input, inputs_++, 0});
  return of({{monomial_of({static_cast<std::uint32_t>(atoms_.size() - 1)}), 1}}, value);
}

Size SizeTrace::operate(SizeOperation operation, const Size& a, const Size& b, std::int64_t value) {
  const std::uint32_t left = line_of(a);
  const std::uint32_t right = line_of(b);
  const std::array<std::uint32_t, 3> key{static_cast<std::uint32_t>(operation), left, right};
  const auto known = known_results_.find(key);
  if (known != known_results_.end()) return known->second;
  const Size result = compute(operation, left, right, value);
  known_results_.emplace(key, result);
  return result;
}

Size SizeTrace::compute(SizeOperation operation, std::uint32_t left, std::uint32_t right, std::int64_t value) {
  const Polynomial& a = lines_[left];
  const Polynomial& b = lines_[right];
  switch (operation) {
    case SizeOperation::add: return of(sum(a, b), value);
    case SizeOperation::subtract: return of(sum(a, b, -1), value);
    case SizeOperation::multiply: return of(multiply(a, b), value);
    case SizeOperation::divide:
    case SizeOperation::ceil_divide:
      if (Polynomial quotient; divide(a, b, quotient)) return of(std::move(quotient), value);
      break;
    case SizeOperation::maximum:
      if (at_least(sum(a, b, -1), 0)) return of(a, value);
      if (at_least(sum(b, a, -1), 0)) return of(b, value);
      break;
    case SizeOperation::input: break;
  }
  return atom(operation, left, right, value);
}

/// A result that is no polynomial. It is at least 2, or stays what it is.
Size SizeTrace::atom(SizeOperation operation, std::uint32_t left, std::uint32_t right, std::int64_t value) {
  atoms_.push_back({operation, left, right});
  const Polynomial self{{monomial_of({static_cast<std::uint32_t>(atoms_.size() - 1)}), 1}};
  const std::int64_t least = std::min(value, smallest_input);
  // Not by add_guard, to which every atom is at least 2.
  const std::uint32_t line = intern(sum(self, Polynomial{{0, 1}}, -least));
  guard_of_line_.emplace(line, guards_.size());
  guards_.push_back({line, value < smallest_input ? Sign::zero : static_cast<Signs>(Sign::zero | Sign::positive)});
  return value < smallest_input ? Size(value) : of(self, value);
}

void SizeTrace::guard(const Size& a, const Size& b, Signs signs) {
  add_guard(sum(polynomial(a), polynomial(b), -1), signs);
}

void SizeTrace::add_guard(Polynomial polynomial, Signs signs) {
  if (is_constant(polynomial)) return;
  if (polynomial.back().coefficient < 0) {
    polynomial = sum({}, polynomial, -1);
    signs = mirrored(signs);
  }
  // What holds for all inputs needs no guard.
  if ((signs & Sign::positive) != 0 && at_least(polynomial, (signs & Sign::zero) != 0 ? 0 : 1)) return;
  const std::uint32_t line = intern(std::move(polynomial));
  const auto [known, is_new] = guard_of_line_.emplace(line, guards_.size());
  if (is_new)
    guards_.push_back({line, signs});
  else
    guards_[known->second].signs &= signs;
}

Polynomial SizeTrace::polynomial(const Size& size) const {
  if (size.line() != 0) return lines_[size.line()];
  if (size.recorded() == 0) return {};
  return {{0, size.recorded()}};
}

std::uint32_t SizeTrace::line_of(const Size& size) { return size.line() != 0 ? size.line() : intern(polynomial(size)); }

std::uint32_t SizeTrace::intern(Polynomial polynomial) {
  const auto known = known_lines_.find(polynomial);
  if (known != known_lines_.end()) return known->second;
  const auto line = static_cast<std::uint32_t>(lines_.size());
  known_lines_.emplace(polynomial, line);
  lines_.push_back(std::move(polynomial));
  return line;
}

Size SizeTrace::of(Polynomial polynomial, std::int64_t value) {
  if (is_constant(polynomial)) return value;
  const std::uint32_t line = intern(std::move(polynomial));
  return {value, line};
}

std::uint32_t SizeTrace::monomial_of(const std::vector<std::uint32_t>& factors) {
  std::uint32_t monomial = 0;
  for (const std::uint32_t factor : factors) {
    const auto [known, is_new] =
        known_monomials_.emplace(std::pair{monomial, factor}, static_cast<std::uint32_t>(monomials_.size()));
    if (is_new) {
      monomials_.push_back({monomial, factor, monomials_[monomial].degree + 1});
      std::vector<std::uint32_t> all = factors_[monomial];
      all.push_back(factor);
      factors_.push_back(std::move(all));
    }
    monomial = known->second;
  }
  return monomial;
}

std::uint32_t SizeTrace::product(std::uint32_t monomial, std::uint32_t other) {
  if (monomial == 0 || other == 0) return monomial + other;
  const std::vector<std::uint32_t>& a = factors(monomial);
  const std::vector<std::uint32_t>& b = factors(other);
  std::vector<std::uint32_t> all(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), all.begin());
  return monomial_of(all);
}

Polynomial SizeTrace::multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const Term& left : a) {
    Polynomial part;
    for (const Term& right : b)
      part.push_back({product(left.monomial, right.monomial), left.coefficient * right.coefficient});
    std::sort(part.begin(), part.end());
    result = sum(result, part);
  }
  return result;
}

/// Divides by a single term if nothing is left over.
bool SizeTrace::divide(const Polynomial& dividend, const Polynomial& divisor, Polynomial& quotient) {
  if (divisor.size() != 1) return false;
  const std::vector<std::uint32_t> by = factors(divisor[0].monomial);
  for (const Term& term : dividend) {
    const std::vector<std::uint32_t> all = factors(term.monomial);
    if (term.coefficient % divisor[0].coefficient != 0) return false;
    if (!std::includes(all.begin(), all.end(), by.begin(), by.end())) return false;
    std::vector<std::uint32_t> rest;
    std::set_difference(all.begin(), all.end(), by.begin(), by.end(), std::back_inserter(rest));
    quotient.push_back({monomial_of(rest), term.coefficient / divisor[0].coefficient});
  }
  std::sort(quotient.begin(), quotient.end());
  return true;
}

/// Every negative term must be covered by positive ones of multiples of its monomial.
bool SizeTrace::at_least(const Polynomial& polynomial, std::int64_t bound) const {
  const auto twos = [this](std::uint32_t monomial) { return std::min(monomials_[monomial].degree, 8); };
  std::int64_t least = 0;
  std::vector<Term> above;
  for (const Term& term : polynomial) {
    if (term.monomial == 0)
      least += term.coefficient;
    else if (term.coefficient > 0)
      above.push_back(term);
  }
  for (const Term& term : polynomial) {
    if (term.monomial == 0 || term.coefficient > 0) continue;
    std::int64_t missing = -term.coefficient;
    const std::vector<std::uint32_t>& needed = factors_[term.monomial];
    for (std::size_t i = 0; i < above.size() && missing > 0; ++i) {
      const std::vector<std::uint32_t>& all = factors_[above[i].monomial];
      if (!std::includes(all.begin(), all.end(), needed.begin(), needed.end())) continue;
      // One of the larger monomial is at least `ratio` of the smaller; what is left of it is counted as the smaller.
      const std::int64_t ratio = std::int64_t{1} << (twos(above[i].monomial) - twos(term.monomial));
      const std::int64_t used = std::min(above[i].coefficient, (missing + ratio - 1) / ratio);
      above[i].coefficient -= used;
      missing -= used * ratio;
    }
    if (missing > 0) return false;
    if (missing < 0) above.push_back({term.monomial, -missing});
  }
  for (const Term& term : above) least += term.coefficient << twos(term.monomial);
  return least >= bound;
}

}  // namespace trainmem
