#include "engine/peak/schedule.h"

#include <algorithm>
#include <map>

#include "engine/size/size_trace.h"
#include "engine/tape/moments.h"
#include "engine/training/step.h"

namespace trainmem {

namespace {

constexpr Size Model::*open_model_sizes[] = {
    &Model::vocab_size,          &Model::hidden_size, &Model::num_hidden_layers, &Model::num_attention_heads,
    &Model::num_key_value_heads, &Model::head_dim,    &Model::intermediate_size};
constexpr Size Recipe::*open_recipe_sizes[] = {&Recipe::micro_batch_size, &Recipe::sequence_length,
                                               &Recipe::gradient_accumulation_steps, &Recipe::data_parallel_size,
                                               &Recipe::tensor_parallel};

/// Calls act(index, size) for every size that schedules leave open.
template <class AnyConfig, class Act>
void for_each_open_size(AnyConfig& config, Act act) {
  std::size_t i = 0;
  for (const auto member : open_model_sizes) act(i++, config.model.*member);
  for (const auto member : open_recipe_sizes) act(i++, config.recipe.*member);
}

// Other sizes may be too large for their products; they fail a guard, but must not trap before that.
std::int64_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
std::int64_t total_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

bool allowed(std::int64_t value, Signs signs) {
  const Signs sign = value == 0 ? Sign::zero : value > 0 ? Sign::positive : Sign::negative;
  return (signs & sign) != 0;
}

}  // namespace

OpenSizes open_sizes(const Config& config) {
  OpenSizes sizes{};
  for_each_open_size(config, [&](std::size_t i, const Size& size) { sizes[i] = size.value(); });
  return sizes;
}

void set_open_sizes(Config& config, const OpenSizes& sizes) {
  for_each_open_size(config, [&](std::size_t i, Size& size) { size = sizes[i]; });
}

/// Translates what a trace has into a schedule's lines, of which it takes those that occur.
class ScheduleBuilder {
 public:
  ScheduleBuilder(const SizeTrace& trace, Schedule& schedule) : trace_(trace), schedule_(schedule) {}

  void operator()(const std::vector<Moment>& moments) {
    for (const Guard& guard : trace_.guards())
      schedule_.checks_.push_back({terms(trace_.polynomial(guard.line)), guard.signs});
    Polynomial before;
    for (const Moment& moment : moments) {
      Schedule::KeptMoment kept;
      kept.change = terms(trainmem::sum(moment.total, before, -1));
      for (std::size_t i = 0; i < moment.components.size(); ++i) kept.components[i] = terms(moment.components[i]);
      kept.phase = moment.phase;
      schedule_.moments_.push_back(kept);
      before = moment.total;
    }
  }

 private:
  Schedule::Range terms(const Polynomial& polynomial) {
    std::vector<Schedule::LineTerm> list;
    for (const Term& term : polynomial) list.push_back({term.coefficient, monomial(term.monomial)});
    const auto begin = static_cast<std::uint32_t>(schedule_.terms_.size());
    schedule_.terms_.insert(schedule_.terms_.end(), list.begin(), list.end());
    return {begin, static_cast<std::uint32_t>(schedule_.terms_.size())};
  }

  std::uint32_t add(const Schedule::Line& line) {
    schedule_.lines_.push_back(line);
    return static_cast<std::uint32_t>(schedule_.lines_.size() - 1);
  }

  std::uint32_t monomial(std::uint32_t index) {
    if (index == 0) return 0;
    const auto known = monomials_.find(index);
    if (known != monomials_.end()) return known->second;
    const Monomial& product = trace_.monomials()[index];
    const std::uint32_t factor = atom(product.atom);
    const std::uint32_t line =
        product.parent == 0 ? factor : add({SizeOperation::multiply, monomial(product.parent), factor});
    monomials_.emplace(index, line);
    return line;
  }

  std::uint32_t atom(std::uint32_t index) {
    const auto known = atoms_.find(index);
    if (known != atoms_.end()) return known->second;
    const Atom& operation = trace_.atoms()[index];
    Schedule::Line line{operation.operation, operation.left, operation.right};
    if (operation.operation != SizeOperation::input) {
      line.left = value(operation.left);
      line.right = value(operation.right);
    }
    const std::uint32_t result = add(line);
    atoms_.emplace(index, result);
    return result;
  }

  /// The line that has the value of a line of the trace.
  std::uint32_t value(std::uint32_t traced) {
    const Schedule::Range range = terms(trace_.polynomial(traced));
    return add({SizeOperation::add, range.begin, range.end});
  }

  const SizeTrace& trace_;
  Schedule& schedule_;
  std::map<std::uint32_t, std::uint32_t> monomials_;
  std::map<std::uint32_t, std::uint32_t> atoms_;
};

Schedule::Schedule(const Config& config, std::int64_t stage) : traced_(open_sizes(config)) {
  SizeTrace trace;
  const ActivateTrace active(trace);
  Config traced = config;
  std::vector<std::size_t> inputs;
  for_each_open_size(traced, [&](std::size_t i, Size& size) {
    open_[i] = traced_[i] >= SizeTrace::smallest_input;
    if (!open_[i]) return;
    size = trace.input(traced_[i]);
    inputs.push_back(i);
  });
  const Recording tape = run_training(traced, {.fold = true, .stage = stage});
  const std::vector<Moment> moments = highest_moments(tape, trace);
  ScheduleBuilder(trace, *this)(moments);
  // An input of the trace is one of the open sizes.
  for (std::size_t i = 1; i < lines_.size(); ++i)
    if (lines_[i].operation == SizeOperation::input)
      lines_[i].left = static_cast<std::uint32_t>(inputs[lines_[i].left]);
}

std::int64_t Schedule::sum(Range range, const std::array<std::int64_t, most_lines>& values) const {
  std::int64_t total = 0;
  for (std::uint32_t i = range.begin; i < range.end; ++i)
    total = total_of(total, product(terms_[i].coefficient, values[terms_[i].line]));
  return total;
}

/// Computes the lines; false where a divisor is not positive, which no guarded run has.
bool Schedule::evaluate(const OpenSizes& sizes, std::array<std::int64_t, most_lines>& values) const {
  values[0] = 1;
  for (std::size_t i = 1; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    switch (line.operation) {
      case SizeOperation::input: values[i] = sizes[line.left]; break;
      case SizeOperation::multiply: values[i] = product(values[line.left], values[line.right]); break;
      case SizeOperation::divide:
        if (values[line.right] <= 0) return false;
        values[i] = values[line.left] / values[line.right];
        break;
      case SizeOperation::ceil_divide:
        if (values[line.right] <= 0) return false;
        values[i] = total_of(values[line.left], values[line.right] - 1) / values[line.right];
        break;
      case SizeOperation::maximum: values[i] = std::max(values[line.left], values[line.right]); break;
      case SizeOperation::add: values[i] = sum({line.left, line.right}, values); break;
      case SizeOperation::subtract: return false;  // sums have terms of either sign
    }
  }
  return true;
}

bool Schedule::price(const OpenSizes& sizes, Peak& peak) const {
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (open_[i] ? sizes[i] < SizeTrace::smallest_input : sizes[i] != traced_[i]) return false;
  std::array<std::int64_t, most_lines> values;  // NOLINT(cppcoreguidelines-pro-type-member-init): written by evaluate
  if (lines_.size() > most_lines || !evaluate(sizes, values)) return false;
  for (const Check& check : checks_)
    if (!allowed(sum(check.value, values), check.signs)) return false;
  const KeptMoment* highest = nullptr;
  std::int64_t total = 0;
  std::int64_t most = 0;
  for (const KeptMoment& moment : moments_) {
    total = total_of(total, sum(moment.change, values));
    if (highest != nullptr && total <= most) continue;
    highest = &moment;
    most = total;
  }
  if (highest == nullptr) return false;
  peak.allocated = most;
  peak.phase = highest->phase;
  for (std::size_t i = 0; i < peak.components.size(); ++i) peak.components[i] = sum(highest->components[i], values);
  return true;
}

}  // namespace trainmem
