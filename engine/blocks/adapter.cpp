#include "engine/blocks/adapter.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "engine/parallel/module_wrapper.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/run.h"
#include "engine/text/list.h"

namespace trainmem {

namespace {

struct Target {
  std::string_view role;
  std::string_view words;  ///< any of them selects the layer
};

constexpr Target targets[] = {{"query", "q"},
                              {"key", "k"},
                              {"value", "v"},
                              {"query, key and value", "q,k,v"},
                              {"query down", "q"},  // latent attention: q_a_proj, kv_a_proj_with_mqa, kv_b_proj
                              {"key and value down", "k,v"},
                              {"key and value", "k,v"},
                              {"attention projection", "o"},
                              {"convolution projection", "o"},  // LFM2: out_proj, as attention's
                              {"gate", "gate"},
                              {"up", "up"},
                              {"gate and up", "gate,up"},
                              {"down", "down"},
                              {"expert gate and up", "expert gate,expert up"},  // see adapter_targets.h
                              {"expert down", "expert down"},
                              {"router", "router"}};

/// What else is an nn.Linear, and no head: peft's "all-linear" takes these, too.
constexpr std::string_view other_layers[] = {"shared expert gate",
                                             "output gate",
                                             "query, key, value and output gate",
                                             "beta and decay",
                                             "query, key and value of linear attention",
                                             "beta",
                                             "decay",
                                             "linear attention projection",
                                             "router projection",
                                             "layer embedding gate",
                                             "layer embedding output",
                                             "layer embedding projection",
                                             "projection from the embedding's width",
                                             "projection to the embedding's width",
                                             "head projection",
                                             "side branch of the layer",
                                             "recurrence gate",
                                             "recurrence input",
                                             "recurrence projection",
                                             "side branch down",
                                             "side branch up"};
/// The same of blocks that are not quantised here.
constexpr std::string_view never_quantized[] = {
    "laurel left",     "laurel right",     "prediction",       "correction",    "stream",
    "stream output",   "modality router",  "gates and input",  "indexer query", "indexer key",
    "indexer weights", "projected states", "mixer projection", "time steps",    "time steps, B and C"};

constexpr Rule adapter_rule{"weight", "a weight of the model", "pytorch torch/nn/parameter.py"};
constexpr const char* names[] = {"LoRA A", "LoRA B"};

/// Whole adapters have no memory before give_memory_to_adapters; shards are the wrapper's.
Tensor make(const Shape& shape, DType dtype, const char* name) {
  if (active_run().new_parameters.maker) return make_parameter(shape, dtype, name);
  Tensor weight = declare(shape, dtype);
  weight->requires_grad = true;
  register_parameter(weight);
  return weight;
}

bool is_one_of(std::string_view role, std::span<const std::string_view> layers) {
  return std::find(layers.begin(), layers.end(), role) != layers.end();
}

bool selects(std::string_view chosen, std::string_view role) {
  bool found = false;
  for (const Target& target : targets)
    if (target.role == role)
      for_each_item(chosen, [&](std::string_view word) { found = found || has_item(target.words, word); });
  if (has_item(chosen, "other")) found = found || is_one_of(role, other_layers) || is_one_of(role, never_quantized);
  return found;
}

}  // namespace

Adapter make_adapter(Size in, Size out, const char* role, Size times) {
  Run& run = active_run();
  const FineTuning& tuning = run.settings.fine_tuning;
  Adapter adapter;
  if (tuning.rank == 0 || !selects(tuning.targets, role)) return adapter;
  const Set<bool> trained(run.new_parameters.frozen, false);
  const Size rank = Size(tuning.rank) * times;
  if (times == Size(1)) adapter.wrapper = WrapsAdapters::wrapper();
  if (adapter.wrapper != nullptr) adapter.groups[0] = adapter.wrapper->open_adapter();
  adapter.a = make({rank, in}, tuning.dtype, names[0]);
  if (adapter.wrapper != nullptr) adapter.groups[1] = adapter.wrapper->open_adapter();
  adapter.b = make({out, rank}, tuning.dtype, names[1]);
  adapter.dropout = tuning.dropout;
  run.tape.adapter_elements += (rank * (in + out) * run.times_of(run.layer)).recorded();
  return adapter;
}

void give_memory_to_adapters() {
  Run& run = active_run();
  if (run.new_parameters.maker) return;
  const bool in_layer = run.layer >= 0;  // whose stretch is marked
  LayerStretches stretches;
  int second = 0;  // A and B are registered in turns
  for (const RegisteredParameter& parameter : run.parameters) {
    const Tensor& weight = parameter.tensor;
    if (weight->storage->id >= 0 || !weight.requires_grad()) continue;
    const Layer layer(parameter.layer);
    if (!in_layer) stretches.enter(parameter.layer);
    give_memory(weight, weight.elements(), Component::weights, {&adapter_rule, names[second]});
    note_kept(weight, adapter_rule);
    second = 1 - second;
  }
}

bool Adapter::defined() const { return a.defined() && !active_run().adapters_disabled; }

Tensor Adapter::product(int which, Tensor x) const {
  if (wrapper != nullptr) x = wrapper->before_forward(groups[which], std::move(x));
  Tensor result =
      which == 0 ? linear(std::move(x), a, {}, "LoRA A output") : linear(std::move(x), b, {}, "LoRA B output");
  return wrapper == nullptr ? result : wrapper->after_forward(groups[which], std::move(result));
}

Tensor Adapter::operator()(Tensor base, Tensor x) const {
  const DType dtype = base.dtype();
  const Run& run = active_run();
  // peft looks at the weight of a module that FSDP1 may not have gathered yet: a shard in its stored format.
  const bool stored = wrapper != nullptr && run.autocast.enabled && !wrapper->is_gathered(groups[0]);
  x = to(std::move(x), stored ? run.settings.fine_tuning.dtype : a.dtype());
  Tensor low = product(0, trainmem::dropout(x, dropout));
  Tensor branch = multiply_number(product(1, std::move(low)));
  if (active_run().compiled_region != 0) return add_in_place(std::move(base), std::move(branch));
  Tensor sum = add(std::move(base), std::move(branch), "output with LoRA");
  return to(std::move(sum), dtype);
}

Tensor Adapter::beside_quantized(Tensor base, Tensor x) const {
  const DType dtype = base.dtype();
  const bool converts = !active_run().autocast.enabled;
  base = clone(std::move(base));
  if (active_run().compiled_region != 0) return (*this)(std::move(base), std::move(x));
  if (converts) x = to(std::move(x), a.dtype());
  Tensor low = product(0, trainmem::dropout(x, dropout));
  Tensor branch = multiply_number(product(1, std::move(low)));
  if (converts) branch = to(std::move(branch), dtype);
  return add(std::move(base), std::move(branch), "output with LoRA");
}

// transformers integrations/bitsandbytes.py, replace_with_bnb_linear: every nn.Linear and Conv1D but the head. Stacked
// experts and their routers are parameters of other modules, and stay as they are.
bool is_quantized(const char* role) {
  if (active_run().settings.fine_tuning.quantization == Quantization::none) return false;
  if (selects("q,k,v,o,gate,up,down", role)) return true;
  return is_one_of(role, other_layers);
}

}  // namespace trainmem
