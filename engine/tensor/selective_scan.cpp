// What mamba_inner_fn and selective_scan_fn allocate and keep: mamba-ssm (e9594ce) ops/selective_scan_interface.py,
// MambaInnerFn and SelectiveScanFn, and csrc/selective_scan/selective_scan.cpp. The former's backward convolves again
// and computes the time steps again.
//
// b: sequences, s: tokens, i: channels, n: states of a channel, r: rank of the time steps.
#include "engine/tensor/selective_scan.h"

#include <vector>

#include "engine/tensor/autograd.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {

constexpr Rule inner_rule{"mamba_inner_fn",
                          "projected states, B, C and the result of the scan: its backward computes the rest from them "
                          "again",
                          "mamba-ssm mamba_ssm/ops/selective_scan_interface.py: MambaInnerFn"};

constexpr Rule scan_rule{"selective_scan_fn", "what the scan reads, and its result: its backward scans again",
                         "mamba-ssm mamba_ssm/ops/selective_scan_interface.py: SelectiveScanFn"};

constexpr std::int64_t scanned_at_once = 2048;  // tokens between two states that selective_scan.cpp keeps

struct Scan {
  Size b, s, i, n, r, hidden, conv_width;
  DType dtype;        ///< of the projected states
  DType convolution;  ///< of its weight
  bool normed;
  bool biased;
  bool several;  ///< sequences: rows of all of them are a copy

  Scan(const Tensor& projected, const SelectiveWeights& w)
      : b(projected.size(0)),
        s(projected.size(2)),
        i(w.decay.size(0)),
        n(w.decay.size(1)),
        r(w.step.size(1)),
        hidden(w.output.size(0)),
        conv_width(w.convolution.size(2)),
        dtype(projected.dtype()),
        convolution(w.convolution.dtype()),
        normed(w.normed),
        biased(w.convolution_bias.defined()),
        several(projected.size(0) > 1) {}

  static Tensor make(const Shape& shape, DType format, const char* role) {
    return allocate(shape, format, {&inner_rule, role});
  }
  Tensor low(const Shape& shape, const char* role) const { return make(shape, dtype, role); }
  Tensor channels(const char* role) const { return low({b, i, s}, role); }
  Tensor states(const char* role) const { return low({b, 1, n, s}, role); }
  /// A copy of channels as rows, unless there is one sequence: lives as long as the result.
  Tensor rows_of_channels() const { return several ? channels("rows") : Tensor(); }

  /// rms_norm_forward, of rows: a copy of them, their norm, and a copy of that as they were.
  Tensor renormed(Tensor x, const char* role) const {
    const Shape shape = x.shape();
    Tensor rows = low(shape, role);
    x.reset();
    Tensor result = low(shape, role);
    { const Tensor inverse = make({b * s}, DType::float32, "1/rms"); }
    rows = std::move(result);
    return low(shape, role);
  }
  Tensor steps() const {
    Tensor result = channels("time steps");
    return normed ? renormed(std::move(result), "time steps") : result;
  }
};

/// Products of the projections and of the output.
void note_inner(Pass pass, const Scan& k) {
  const Size elements = (k.r + Size(2) * k.n) * k.i + k.i * k.r + k.hidden * k.i;
  const Size bytes = elements * element_bytes(k.dtype);
  if (pass == Pass::forward) return note_linear(pass, k.b * k.s, elements, bytes);
  note_linear_backward(k.b * k.s, elements, bytes, true, true);
}

/// The gradients of one factor that every token has, B or C: of the scan, and as rows.
struct Factor {
  Tensor gradient;
  void to_rows(const Scan& k, const char* role) {
    const Tensor rows = k.states(role);
    gradient.reset();
  }
};

/// A sum in fp32 as the gradient of a weight.
Tensor cast_to(const Tensor& sum, DType format) {
  return sum.dtype() == format ? sum : Scan::make(sum.shape(), format, "weight gradient");
}

void backward(Backward& b, const Scan& k, int kept_tensors) {
  std::vector<Tensor> kept;
  for (int i = 0; i < kept_tensors; ++i) kept.push_back(b.kept(i));
  note_inner(Pass::backward, k);
  const Tensor convolved = k.channels("convolution");
  const Tensor steps = k.steps();
  Tensor normed_b, normed_c;
  if (k.normed) {
    normed_b = k.renormed(k.states("B"), "B");
    normed_c = k.renormed(k.states("C"), "C");
  }
  Tensor of_projected = k.low({k.b, Size(2) * k.i, k.s}, "gradient of projected states");
  const Tensor of_result = k.channels("gradient of the scan");
  const Tensor gated = k.channels("gated scan");
  Tensor of_convolved = k.channels("gradient of the convolution");
  Tensor of_steps = k.channels("gradient of time steps");
  Tensor of_decay = Scan::make({k.i, k.n}, DType::float32, "A gradient");
  Factor of_b, of_c;
  Tensor of_skip, of_step_bias;
  {
    const Shape shape{k.b, 1, k.n, k.s};
    const Tensor sum_b = Scan::make(shape, DType::float32, "B gradient");
    const Tensor sum_c = Scan::make(shape, DType::float32, "C gradient");
    of_skip = Scan::make({k.i}, DType::float32, "D gradient");
    of_step_bias = Scan::make({k.i}, DType::float32, "bias gradient");
    of_b.gradient = cast_to(sum_b, k.dtype);
    of_c.gradient = cast_to(sum_c, k.dtype);
  }
  Tensor of_output;
  {
    const Tensor rows = k.normed ? k.rows_of_channels() : Tensor();
    of_output = k.low({k.hidden, k.i}, "weight gradient");
  }
  const Size width = k.r + Size(2) * k.n;
  const Tensor of_factors = k.low({k.b * k.s, width}, "gradient of time steps, B and C");
  of_b.to_rows(k, "B gradient");
  of_c.to_rows(k, "C gradient");
  if (k.normed && k.several) of_steps = k.channels("gradient of time steps");
  Tensor of_step = k.low({k.i, k.r}, "weight gradient");
  { const Tensor rows = k.low({k.b * k.s, k.r}, "gradient of time steps"); }
  if (k.several) of_convolved = k.channels("gradient of the convolution");
  Tensor of_projection;
  {
    const Tensor rows = k.rows_of_channels();
    of_projection = k.low({width, k.i}, "weight gradient");
  }
  Tensor of_convolution = Scan::make({k.i, 1, k.conv_width}, DType::float32, "weight gradient");
  Tensor of_bias;
  if (k.biased) of_bias = Scan::make({k.i}, DType::float32, "bias gradient");
  of_convolution = cast_to(of_convolution, k.convolution);
  if (k.biased) of_bias = cast_to(of_bias, k.convolution);
  Tensor* all[] = {&of_projected, &of_convolution, &of_bias, &of_projection, &of_step,
                   &of_output,    &of_decay,       &of_skip, &of_step_bias};
  for (int i = 0; i < 9; ++i)
    if (b.wants(i)) b.give(i, std::move(*all[i]));
}

}  // namespace

Tensor mamba_inner(const Tensor& projected, const SelectiveWeights& w) {
  const Scan k(projected, w);
  const Ref<Node> node = begin_node(inner_rule, {&projected, &w.convolution, &w.convolution_bias, &w.projection,
                                                 &w.step, &w.output, &w.decay, &w.skip, &w.step_bias});
  // Under autocast the weights are cast for this call alone.
  const auto cast = [&](const Tensor& weight) {
    return weight.dtype() == k.dtype ? weight : k.low(weight.shape(), "copy of a weight");
  };
  const Tensor projection = cast(w.projection);
  const Tensor step = cast(w.step);
  const Tensor output = cast(w.output);
  const Tensor states = k.low({k.b, Size(2) * k.i, k.s}, "projected states");
  Tensor convolved = k.channels("convolution");
  Tensor factors;
  {
    const Tensor rows = k.rows_of_channels();
    factors = k.low({k.b * k.s, k.r + Size(2) * k.n}, "time steps, B and C");
  }
  Tensor steps = k.channels("time steps");
  Tensor in = k.states("B");
  Tensor out = k.states("C");
  if (k.normed) {
    in = k.renormed(std::move(in), "B");
    out = k.renormed(std::move(out), "C");
    steps = k.renormed(std::move(steps), "time steps");
  }
  Tensor gated = k.channels("gated scan");
  const Tensor scanned = k.channels("scan");
  const Tensor passed =
      Scan::make({k.b, k.i, ceil_divide(k.s, Size(scanned_at_once)), Size(2) * k.n}, DType::float32, "states");
  convolved.reset();
  steps.reset();
  note_inner(Pass::forward, k);
  Tensor result;
  {
    const Tensor rows = k.channels("rows");
    result = k.low({k.b, k.s, k.hidden}, "output of the mixer");
  }
  int kept = 0;
  for (const Tensor* each : {&states, &w.convolution, &w.convolution_bias, &static_cast<const Tensor&>(factors),
                             &projection, &step, &output, &w.decay, &static_cast<const Tensor&>(in),
                             &static_cast<const Tensor&>(out), &w.skip, &w.step_bias, &passed, &scanned}) {
    if (!each->defined()) continue;
    keep(node, *each);
    ++kept;
  }
  if (node) node->backward = [k, kept](Backward& b) { backward(b, k, kept); };
  finish_node(node, result);
  return result;
}

Tensor selective_scan(const SelectiveInputs& x) {
  const Ref<Node> node =
      begin_node(scan_rule, {&x.hidden, &x.steps, &x.decay, &x.in, &x.out, &x.skip, &x.gate, &x.step_bias});
  const auto dense = [](const Tensor& given, const Shape& shape) {
    return Scan::make(shape, given.dtype(), "copy for the scan");
  };
  const Shape shape = x.steps.shape();
  const Size n = x.decay.size(1);
  const Shape of_factors{shape[0], n, shape[2]};
  const Tensor hidden = dense(x.hidden, shape);
  const Tensor in = dense(x.in, of_factors);
  const Tensor out = dense(x.out, of_factors);
  const Tensor gate = dense(x.gate, shape);
  const Tensor result = Scan::make(shape, x.gate.dtype(), "gated scan");
  const Tensor scanned = Scan::make(shape, x.steps.dtype(), "scan");
  const Tensor passed = Scan::make({shape[0], shape[1], ceil_divide(shape[2], Size(scanned_at_once)), Size(2) * n},
                                   DType::float32, "states");
  for (const Tensor& each : {hidden, x.steps, x.decay, in, out, x.skip, gate, x.step_bias, passed, scanned})
    keep(node, each);
  if (node)
    node->backward = [shape, of_factors, n](Backward& b) {
      std::vector<Tensor> kept;
      for (int i = 0; i < 10; ++i) kept.push_back(b.kept(i));
      const auto make = [&](const Shape& of, int like, const char* role) {
        return Scan::make(of, kept[static_cast<std::size_t>(like)].dtype(), role);
      };
      const Tensor given = b.gradient().is_contiguous() ? Tensor() : make(shape, 0, "gradient of the scan");
      Tensor of_gate = make(shape, 6, "gradient of the gate");
      Tensor of_hidden = make(shape, 0, "gradient of the convolution");
      Tensor of_steps = make(shape, 1, "gradient of time steps");
      Tensor of_decay = make({shape[1], n}, 2, "A gradient");
      const Tensor sum_in = Scan::make(of_factors, DType::float32, "B gradient");
      const Tensor sum_out = Scan::make(of_factors, DType::float32, "C gradient");
      Tensor of_skip = make({shape[1]}, 5, "D gradient");
      Tensor of_bias = make({shape[1]}, 7, "bias gradient");
      const auto turned = [&](const Tensor& sum, int like) {
        const Tensor gradient = cast_to(sum, kept[static_cast<std::size_t>(like)].dtype());
        return alias(gradient, {shape[0], shape[2], n}, contiguous_strides({shape[0], shape[2], n}));
      };
      Tensor of_in = turned(sum_in, 3);
      Tensor of_out = turned(sum_out, 4);
      Tensor* all[] = {&of_hidden, &of_steps, &of_decay, &of_in, &of_out, &of_skip, &of_gate, &of_bias};
      for (int i = 0; i < 8; ++i)
        if (b.wants(i)) b.give(i, std::move(*all[i]));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
