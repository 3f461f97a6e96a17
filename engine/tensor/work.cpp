#include "engine/tensor/work.h"

#include "engine/tensor/run.h"

namespace trainmem {

namespace {

void note(Pass pass, Component component, Bytes bytes, double operations) {
  Run& run = active_run();
  if (run.recomputing.complete) return;
  const auto event = static_cast<std::uint32_t>(run.tape.events.size());
  run.tape.work.push_back({event, component, pass == Pass::forward, bytes, operations});
}

double number(const Size& size) { return static_cast<double>(size.recorded()); }

/// Pairs of a query and a key that are multiplied.
double pairs(const AttentionSizes& sizes) {
  const double s = number(sizes.queries);
  if (!sizes.causal || !(sizes.queries == sizes.keys)) return s * number(sizes.keys);
  const double window =
      sizes.window > 0 && sizes.window < sizes.queries.value() ? static_cast<double>(sizes.window) : s;
  return window * (window + 1) / 2 + (s - window) * window;
}

}  // namespace

void note_linear(Pass pass, const Size& rows, const Size& weight_elements, const Size& weight_bytes) {
  note(pass, Component::weights, weight_bytes.recorded(), 2 * number(rows) * number(weight_elements));
}

void note_linear_backward(const Size& rows, const Size& weight_elements, const Size& weight_bytes, bool input,
                          bool weight) {
  const double product = 2 * number(rows) * number(weight_elements);
  const double products = (input ? 1 : 0) + (weight ? 1 : 0);
  note(Pass::backward, Component::weights, input ? weight_bytes.recorded() : 0, products * product);
}

void note_products(Pass pass, const Size& batch, const Size& m, const Size& k, const Size& n) {
  note(pass, Component::activations, 0, 2 * number(batch) * number(m) * number(k) * number(n));
}

void note_attention(Pass pass, const AttentionSizes& sizes) {
  const double product = 2 * number(sizes.batch) * number(sizes.heads) * pairs(sizes) * number(sizes.width);
  if (pass == Pass::forward) {
    note(pass, Component::activations, 0, 2 * product);
    return;
  }
  note(Pass::forward, Component::activations, 0, product);
  note(Pass::backward, Component::activations, 0, 4 * product);
}

void note_traffic(Pass pass, Component component, const Size& bytes) { note(pass, component, bytes.recorded(), 0); }

}  // namespace trainmem
