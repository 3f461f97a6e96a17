#include "engine/optimizer/walk.h"

#include <algorithm>
#include <utility>

namespace trainmem {
namespace {

Shape shape_of(Extent extent, const Shape& shape, const Shape& gradient, const Size& asked_rank) {
  const int rank = shape.rank();
  const auto without = [&](int dimension) {
    Shape rest;
    for (int i = 0; i < rank; ++i) {
      if (i != dimension) rest.append(shape[i]);
    }
    return rest;
  };
  const auto shorter = [&] { return minimum(shape[-1], shape[-2]); };
  const auto longer = [&] { return maximum(shape[-1], shape[-2]); };
  switch (extent) {
    case Extent::full: return shape;
    case Extent::gradient: return gradient;
    case Extent::twice: return {2, shape.elements()};
    case Extent::packed: return {shape.elements() / 2};
    case Extent::rows: return without(rank - 1);
    case Extent::columns: return without(rank - 2);
    case Extent::gram: return {shorter(), shorter()};
    case Extent::longer: return {longer()};
    case Extent::shorter: return {shorter()};
    case Extent::projector: return {minimum(asked_rank, shorter()), shorter()};
    case Extent::projected: return {minimum(asked_rank, shorter()), longer()};
    case Extent::blocks: return {ceil_divide(shape.elements(), state_block)};
    case Extent::twice_blocks: return {2, ceil_divide(shape.elements(), state_block)};
    case Extent::small_blocks: return {ceil_divide(shape.elements(), small_state_block)};
    case Extent::code_book: return {256};
    case Extent::small_code_book: return {16};
    case Extent::scalar: return {};
  }
  return shape;
}

constexpr Rule code_book_rule{"qmap", "the 256 values that 8-bit codes stand for",
                              "bitsandbytes optim/optimizer.py: fill_qmap"};
constexpr const char* clip_source = "pytorch torch/nn/utils/clip_grad.py: _get_total_norm";
constexpr Rule norm_rule{"linalg_vector_norm", "norm of a gradient", clip_source};
constexpr Rule stack_rule{"stack", "norms of all gradients", clip_source};
constexpr Rule power_rule{"pow", "", clip_source};
constexpr Rule all_reduce_rule{"all-reduce", "", clip_source};
constexpr Rule coefficient_rule{"clipping coefficient", "",
                                "pytorch torch/nn/utils/clip_grad.py: _clip_grads_with_norm_"};

template <class T>
T& at(std::array<T, optimizer_slots>& slots, int slot) {
  return slots[static_cast<std::size_t>(slot)];
}

/// The parameter stepped after the one before `next`, the last of its layer. Layers that are repeated begin anew.
std::size_t first_after(std::size_t next) {
  const Run& run = active_run();
  const std::vector<RegisteredParameter>& parameters = run.parameters;
  const std::int32_t layer = parameters[next - 1].layer;
  if (layer < 0 || run.times_of(layer).value() == 1) return next;
  const auto beside = [&](const RegisteredParameter& other) {
    return other.layer >= 0 && run.group_of(other.layer) == run.group_of(layer);
  };
  if (next < parameters.size() && beside(parameters[next])) return next;
  return static_cast<std::size_t>(std::find_if(parameters.begin(), parameters.end(), beside) - parameters.begin());
}

/// The gradient of a row-wise embedding is a DTensor of the whole table: engine/parallel/tensor.cpp.
bool has_whole_gradient(const Tensor& parameter) {
  const Size& parts = active_run().settings.tensor_parallel.size;
  const Tensor& gradient = parameter->grad;
  return parts > 1 && gradient.defined() && gradient->is_view &&
         gradient->storage->bytes == gradient.elements() * element_bytes(gradient.dtype()) * parts;
}

std::int32_t last_group() {
  std::int32_t last = 0;
  for (const RegisteredParameter& parameter : active_run().parameters) last = std::max(last, parameter.group);
  return last;
}

void drop(std::vector<Tensor>& list) {
  if (list.empty()) return;
  for_each_parameter([&](std::size_t i, const Tensor&) { list[i].reset(); });
  list.clear();
}

}  // namespace

OptimizerWalk::OptimizerWalk(OptimizerPart part, OptimizerImplementation implementation, DType state, Size rank)
    : part_(part), facts_(optimizer_facts(part, implementation)), state_(state), rank_(rank) {}

bool OptimizerWalk::has(std::size_t n) const {
  if (part_.members == Members::all) return true;
  const Run& run = active_run();
  const bool hidden_matrix = run.parameters[n].layer >= 0 && run.parameters[n].tensor.rank() == 2;
  return hidden_matrix == (part_.members == Members::hidden_matrices);
}

bool OptimizerWalk::steps(std::size_t n) const { return has(n) && active_run().parameters[n].tensor->grad.defined(); }

SteppedTensor OptimizerWalk::stepped(const Tensor& parameter) const {
  SteppedTensor tensor;
  tensor.rank = parameter.rank() < 3 ? parameter.rank() : 3;
  for (int i = 0; i < tensor.rank; ++i) tensor.shape[static_cast<std::size_t>(i)] = parameter.size(i);
  tensor.parameter = parameter.dtype();
  tensor.gradient = parameter->grad.defined() ? parameter->grad.dtype() : parameter.dtype();
  tensor.whole_gradient = has_whole_gradient(parameter);
  tensor.state = state_ == DType::automatic ? parameter.dtype() : state_;
  return tensor;
}

Shape OptimizerWalk::shape_of_line(Extent extent, const Tensor& parameter) const {
  Shape gradient = parameter.shape();
  if (extent == Extent::gradient && has_whole_gradient(parameter))
    gradient[0] = gradient[0] * active_run().settings.tensor_parallel.size;
  return shape_of(extent, parameter.shape(), gradient, rank_);
}

void OptimizerWalk::make_states() {
  if (made_) return;
  const std::int32_t last = last_group();
  for (std::int32_t group = 0; group <= last; ++group) make_states_of_group(group);
  made_ = true;
}

void OptimizerWalk::make_states_of_group(std::int32_t group) {
  const Set<Component> component(active_run().component, Component::optimizer_states);
  if (group == 0) {
    const std::size_t count = active_run().parameters.size();
    for (std::size_t i = 0; i < count && !made_shared_; ++i)
      if (steps(i)) make_shared_states(active_run().parameters[i].tensor);
  }
  for_each_parameter([&](std::size_t i, const Tensor& parameter) {
    if (active_run().parameters[i].group != group) return;
    if (steps(i) || (facts_.states_at_construction && has(i) && parameter.requires_grad())) make_states_of(parameter);
  });
}

/// They come to the GPU with the first parameter whose states are codes: optimizer.py, init_state.
void OptimizerWalk::make_shared_states(const Tensor& parameter) {
  if (facts_.shared_state_bytes == 0 || !applies(Only::large, stepped(parameter))) return;
  made_shared_ = true;
  const Size values = facts_.shared_state_bytes / element_bytes(DType::float32);
  states_.push_back(allocate({values}, DType::float32, {&code_book_rule, "code books"}));
  note_kept(states_.back(), code_book_rule);
}

void OptimizerWalk::make_states_of(const Tensor& parameter) {
  const SteppedTensor tensor = stepped(parameter);
  for (const StateLine& line : facts_.states) {
    if (!applies(line.only, tensor)) continue;
    const Shape shape = shape_of_line(line.extent, parameter);
    const DType dtype = dtype_of(line.format, tensor);
    const bool paged = facts_.paged && line.extent == Extent::full && tensor.elements() >= smallest_paged;
    states_.push_back(paged ? allocate_nothing(shape, dtype) : allocate(shape, dtype, {&line.rule, line.name}));
    if (!paged) note_kept(states_.back(), line.rule);
  }
}

Tensor OptimizerWalk::made_by(const StepLine& line, const Tensor& parameter) const {
  return allocate(shape_of_line(line.extent, parameter), dtype_of(line.format, stepped(parameter)), {&line.rule});
}

void OptimizerWalk::walk(const Tensor& parameter, Variables& variables) const {
  const SteppedTensor tensor = stepped(parameter);
  for (const StepLine& line : facts_.lines) {
    if (!applies(line.only, tensor)) continue;
    switch (line.action) {
      case StepAction::make: at(variables, line.slot) = made_by(line, parameter); break;
      case StepAction::drop: at(variables, line.slot).reset(); break;
      case StepAction::move: at(variables, line.slot) = std::exchange(at(variables, line.from), Tensor()); break;
      case StepAction::take: {
        Variables copies;
        for (int i = 0; i < line.slot; ++i) at(copies, i) = made_by(line, parameter);
        break;
      }
    }
  }
}

void OptimizerWalk::walk_lists(const std::vector<bool>& group, std::array<List, optimizer_slots>& lists) const {
  const std::vector<RegisteredParameter>& parameters = active_run().parameters;
  for (const StepLine& line : facts_.lines) {
    const auto concerned = [&](std::size_t i) { return group[i] && applies(line.only, stepped(parameters[i].tensor)); };
    bool any = false;
    for (std::size_t i = 0; i < parameters.size() && !any; ++i) any = concerned(i);
    if (!any) continue;
    const auto made = [&] {
      List list(parameters.size());
      for_each_parameter([&](std::size_t i, const Tensor& parameter) {
        if (concerned(i)) list[i] = made_by(line, parameter);
      });
      return list;
    };
    if (line.action == StepAction::take) {
      std::array<List, optimizer_slots> copies;
      for (int i = 0; i < line.slot; ++i) at(copies, i) = made();
      for (List& list : copies) drop(list);
      continue;
    }
    List fresh;
    if (line.action == StepAction::make) fresh = made();
    if (line.action == StepAction::move) fresh = std::exchange(at(lists, line.from), List());
    drop(at(lists, line.slot));
    at(lists, line.slot) = std::move(fresh);
  }
}

bool OptimizerWalk::walk_on(std::size_t n, Variables& variables) const {
  const std::vector<RegisteredParameter>& parameters = active_run().parameters;
  const auto storages = [&variables] {
    std::array<std::int32_t, optimizer_slots> ids{};
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = variables[i].defined() ? variables[i]->storage->id : -1;
    return ids;
  };
  const auto held = storages();
  const auto holds = [&] {
    const auto now = storages();
    for (std::size_t i = 0; i < held.size(); ++i)
      if (held[i] >= 0 && held[i] == now[i]) return true;
    return false;
  };
  bool walked = false;
  for (; n < parameters.size() && (!walked || holds()); ++n) {
    if (!steps(n)) continue;
    walk(parameters[n].tensor, variables);
    walked = true;
  }
  return walked;
}

void OptimizerWalk::step(const OptimizerWalk* next_part) {
  const std::vector<RegisteredParameter>& parameters = active_run().parameters;
  if (facts_.order == StepOrder::one_by_one) {
    make_states();
    Variables variables;
    const auto let_go = [&](std::size_t next) {
      // A variable holds its tensor until the next parameter's is there. A layer that is repeated must not end what
      // began before it: what a stretch leaves behind meets the next one's parameters here, before that begins.
      if (!walk_on(first_after(next), variables) && next_part != nullptr) next_part->walk_on(0, variables);
      for (Tensor& variable : variables) variable.reset();
    };
    for_each_parameter(
        [&](std::size_t i, const Tensor& parameter) {
          if (steps(i)) walk(parameter, variables);
        },
        let_go);
    return;
  }
  const std::int32_t last = last_group();
  for (std::int32_t group = 0; group <= last; ++group) {
    if (!made_) make_states_of_group(group);
    std::vector<bool> done(parameters.size());
    for (std::size_t i = 0; i < done.size(); ++i) done[i] = parameters[i].group != group;
    step_lists(std::move(done));
  }
  made_ = true;
}

void step_parts(std::vector<OptimizerWalk>& walks) {
  for (std::size_t i = 0; i < walks.size(); ++i) {
    const bool shared = i + 1 < walks.size() && walks[i + 1].optimizer() == walks[i].optimizer();
    walks[i].step(shared ? &walks[i + 1] : nullptr);
  }
}

void OptimizerWalk::step_lists(std::vector<bool> done) {
  const std::vector<RegisteredParameter>& parameters = active_run().parameters;
  std::array<List, optimizer_slots> lists;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (done[i] || !steps(i)) continue;
    const SteppedTensor first = stepped(parameters[i].tensor);
    std::vector<bool> group(parameters.size());
    for (std::size_t j = i; j < parameters.size(); ++j) {
      if (done[j] || !steps(j)) continue;
      const SteppedTensor other = stepped(parameters[j].tensor);
      const bool format = other.parameter == first.parameter && other.gradient == first.gradient;
      const bool dimension = facts_.order == StepOrder::lists || (other.rank >= 2) == (first.rank >= 2);
      if (format && dimension) group[j] = done[j] = true;
    }
    walk_lists(group, lists);
  }
  for (List& list : lists) drop(list);
}

void OptimizerWalk::step_alone(const Tensor& parameter) {
  if (!parameter->grad.defined()) return;
  const TensorBody* body = parameter.get();
  if (!made_ && std::find(stepped_alone_.begin(), stepped_alone_.end(), body) == stepped_alone_.end()) {
    stepped_alone_.push_back(body);
    const Set<Component> component(active_run().component, Component::optimizer_states);
    make_shared_states(parameter);  // each parameter has an optimizer of its own
    make_states_of(parameter);
  }
  Variables variables;
  walk(parameter, variables);
}

void OptimizerWalk::zero_grad() const {
  for_each_parameter([&](std::size_t i, const Tensor& parameter) {
    if (steps(i) && applies(facts_.members, stepped(parameter))) parameter->grad.reset();
  });
}

namespace {

/// Norms of DTensors are summed over the GPUs as powers. torch/distributed/tensor/_ops/_math_ops.py: NormReduction.
Tensor summed_over_gpus(const Tensor& stack) {
  const Tensor powers = allocate(stack.shape(), stack.dtype(), {&power_rule});
  const Tensor summed = allocate(stack.shape(), stack.dtype(), {&all_reduce_rule});
  return allocate(stack.shape(), stack.dtype(), {&power_rule});
}

/// What the gradients are multiplied with: max_norm / (total + 1e-6), at most 1.
Tensor clipping_coefficient(const Tensor& total) {
  const auto number = [&] { return allocate({}, total.dtype(), {&coefficient_rule}); };
  Tensor coefficient;
  {
    const Tensor sum = number();
    const Tensor reciprocal = number();
    coefficient = number();
  }
  return number();
}

}  // namespace

void clip_gradient_norm(int meshes) {
  const std::vector<RegisteredParameter>& parameters = active_run().parameters;
  std::vector<Tensor> norms(parameters.size());
  Size count = 0;
  DType dtype = DType::float32;
  for_each_parameter([&](std::size_t i, const Tensor& parameter) {
    if (!parameter->grad.defined()) return;
    dtype = parameter->grad.dtype();
    norms[i] = allocate({}, dtype, {&norm_rule});
    count = count + active_run().times_of(parameters[i].layer);
  });
  if (count == 0) return;
  Tensor total;
  {
    const Tensor stack = allocate({count}, dtype, {&stack_rule});
    Tensor whole = stack;
    for (int i = 0; i < meshes; ++i) whole = summed_over_gpus(whole);
    total = allocate({}, dtype, {&norm_rule});
  }
  drop(norms);
  const Tensor coefficient = clipping_coefficient(total);
}

}  // namespace trainmem
