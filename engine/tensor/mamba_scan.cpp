// What mamba_split_conv1d_scan_combined allocates and keeps: mamba-ssm (e9594ce) ops/triton/ssd_combined.py and the
// files that it calls. Its backward convolves and scans again; of the scan only the result is kept.
//
// b: sequences, s: tokens, c: chunks of the sequence, a: heads, p and n: widths of a head and of its state, g: groups.
#include "engine/tensor/mamba_scan.h"

#include <algorithm>

#include "engine/tensor/autograd.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {

constexpr const char* source = "mamba-ssm mamba_ssm/ops/triton/ssd_combined.py: MambaSplitConv1dScanCombinedFn";
constexpr Rule exp_rule{"exp", "result of an exponential: its backward needs it", "derivatives.yaml: exp"};
constexpr Rule scan_rule{"mamba_split_conv1d_scan",
                         "projected states and the result of the scan: its backward computes the rest from them again",
                         source};

constexpr std::int64_t multiprocessors = 132;  // of an H100: sums over heads are divided among them

struct Scan {
  Size b, s, a, p, n, g, chunk, c;
  DType dtype = DType::bfloat16;  ///< of the projected states
  Scan(const Tensor& projected, const Mamba& m)
      : b(projected.size(0)),
        s(projected.size(1)),
        a(m.n_heads),
        p(m.d_head),
        n(m.d_state),
        g(m.n_groups),
        chunk(m.chunk_size),
        c(ceil_divide(projected.size(1), Size(m.chunk_size))),
        dtype(projected.dtype()) {}

  Size width() const { return a * p; }
  Size channels() const { return a * p + Size(2) * g * n; }
  Size rows() const { return b * s; }

  static Tensor make(const Shape& shape, DType format, const char* role) {
    return allocate(shape, format, {&scan_rule, role});
  }
  Tensor fp32(const Shape& shape, const char* role) const { return make(shape, DType::float32, role); }
  /// One number for each token and head, in fp32.
  Tensor steps(const char* role) const { return fp32({b, a, c, chunk}, role); }
  Tensor states(DType format, const char* role) const { return make({b, c, a, p * n}, format, role); }
  Tensor convolved() const { return make({b, s, channels()}, dtype, "convolution"); }
  Tensor products() const { return fp32({b, c, g, chunk, chunk}, "products of B and C"); }

  /// Parts in which sums over the heads of a group are made: _chunk_state_bwd_db, _chunk_scan_bwd_dC, _bwd_dcb.
  Size splits() const {
    const std::int64_t heads = a.value() / g.value();
    const std::int64_t wanted = ceil_divide(b * c * a, Size(multiprocessors)).value();
    const std::int64_t together = std::max<std::int64_t>(std::min(wanted, heads), 1);
    return (heads + together - 1) / together;
  }

  /// Rows of partial sums of the norm's weight gradient: layernorm_gated.py, _layer_norm_bwd.
  Size norm_rows() const {
    const std::int64_t group = width().value() / g.value();
    const std::int64_t longest = 65536 / std::max<std::int64_t>(element_bytes(dtype), 1);
    std::int64_t block = 1;
    while (block < group && block < longest) block *= 2;
    const std::int64_t warps = std::clamp<std::int64_t>(block / 256, 1, 8);
    const std::int64_t programs = multiprocessors * ((4 + warps - 1) / warps);
    return (programs + g.value() - 1) / g.value();
  }
};

/// A sum in fp32 as the gradient of a tensor in `format`.
Tensor cast_to(Tensor sum, DType format) {
  if (format == DType::float32) return sum;
  return Scan::make(sum.shape(), format, "weight gradient");
}

/// The gradient of the gate within a scan that gates: the gated result again, and the gradient of the scan's.
struct GateGradient {
  Tensor skip, gated, scanned;
};

/// _chunk_scan_bwd_dz.
GateGradient gate_backward(const Scan& k, DType of_skip, DType of_gradient) {
  GateGradient result;
  const Tensor parts = k.fp32({ceil_divide(k.chunk, Size(32)), k.b, k.c, k.a, 1}, "D gradient");
  result.gated = Scan::make({k.b, k.s, k.a, k.p}, k.dtype, "gated scan");
  result.scanned = Scan::make({k.b, k.s, k.a, k.p}, of_gradient, "gradient of the scan");
  result.skip = cast_to(k.fp32({k.a, 1}, "D gradient"), of_skip);
  return result;
}

/// _mamba_chunk_scan_combined_bwd; the gradient of D, in its format, and those of dt_bias and A. `gate`: of a scan that
/// gates, whose gradient is of a format of its own.
Tensor scan_backward(const Scan& k, DType of_skip, GateGradient* gate, DType of_gradient, Tensor& of_step_bias,
                     Tensor& of_decay) {
  const Tensor given = Scan::make({k.b, k.s, k.a}, k.dtype, "steps");
  const Tensor sums = k.steps("sums of the decay");
  const Tensor step = k.steps("steps");
  const Tensor products = k.products();
  Tensor of_chunks = k.fp32({k.b, k.c, k.a, k.p, k.n}, "states of chunks");
  Tensor passed = k.states(DType::float32, "states");
  const Tensor last = k.fp32({k.b, k.a, k.p * k.n}, "last state");
  of_chunks.reset();
  if (gate != nullptr) *gate = gate_backward(k, of_skip, of_gradient);
  Tensor gradient = k.states(DType::float32, "gradient of states");
  const Tensor passed_gradient = k.states(k.dtype, "gradient of states");
  Tensor converted = k.dtype == DType::float32 ? passed : k.states(k.dtype, "states");
  Tensor decay_of_chunks;
  {
    const Tensor parts = k.fp32({k.b, k.a, k.c, ceil_divide(k.p * k.n, Size(64))}, "decay gradient");
    decay_of_chunks = k.fp32({k.b, k.a, k.c}, "decay gradient");
  }
  gradient.reset();
  passed.reset();
  Tensor parts = k.fp32({ceil_divide(k.chunk, Size(32)), k.b, k.c, k.a, 1}, "D gradient");
  const Tensor step_gradient = k.steps("step gradient");
  Tensor skip_gradient = k.fp32({k.a, 1}, "D gradient");
  parts.reset();
  skip_gradient = k.fp32({k.a}, "D gradient");
  skip_gradient = cast_to(std::move(skip_gradient), of_skip);
  const auto of_groups = [&](const char* role) {
    const Tensor split = k.fp32({k.b, k.s, k.splits(), k.g, k.n}, role);
    return k.fp32({k.b, k.s, k.g, k.n}, role);
  };
  const Tensor next = k.steps("decay gradient");
  const Tensor b_gradient = of_groups("B gradient");
  const Tensor previous = k.steps("decay gradient");
  const Tensor c_gradient = of_groups("C gradient");
  Tensor products_gradient;
  {
    const Tensor split = k.fp32({k.b, k.c, k.splits() * k.g, k.chunk, k.chunk}, "gradient of products");
    products_gradient = k.fp32({k.b, k.c, k.g, k.chunk, k.chunk}, "gradient of products");
  }
  Tensor turned = k.steps("decay gradient");
  turned = k.steps("decay gradient");
  turned = k.steps("decay gradient");
  Tensor rows = k.fp32({k.b, k.a, k.c, ceil_divide(k.chunk, Size(32)), k.chunk}, "decay gradient");
  const Tensor decay_gradient = k.steps("decay gradient");
  rows.reset();
  of_step_bias = k.fp32({k.a}, "dt_bias gradient");
  of_decay = k.fp32({k.a}, "A gradient");
  return skip_gradient;
}

/// Products of the scan, `times` over: B with C, these with x, states of chunks and what they add.
void note_scan(Pass pass, const Scan& k, int times) {
  for (int i = 0; i < times; ++i) {
    note_products(pass, k.b * k.c * k.g, k.chunk, k.n, k.chunk);
    note_products(pass, k.b * k.c * k.a, k.chunk, k.chunk, k.p);
    note_products(pass, k.b * k.c * k.a, k.p, k.chunk, k.n);
    note_products(pass, k.b * k.c * k.a, k.chunk, k.n, k.p);
  }
}

/// What the gradients of the weights are cast to.
struct Formats {
  Size conv_width;
  DType convolution, skip, norm, output;  ///< output: that the output projection computes in
  bool has_norm, convolution_bias, output_bias;
  Formats(const MambaWeights& w, DType computation)
      : conv_width(w.convolution.size(2)),
        convolution(w.convolution.dtype()),
        skip(w.skip.dtype()),
        norm(w.norm.defined() ? w.norm.dtype() : DType::float32),
        output(computation),
        has_norm(w.norm.defined()),
        convolution_bias(w.convolution_bias.defined()),
        output_bias(w.output_bias.defined()) {}
};

void backward(Backward& b, const Scan& k, const Size& hidden, const Formats& formats) {
  const DType dtype = k.dtype;
  const Tensor projected = b.kept(0);
  Tensor normed = Scan::make({k.b, k.s, k.width()}, dtype, "gated norm");
  Tensor convolved = k.convolved();
  Tensor gradient = Scan::make(projected.shape(), dtype, "gradient of projected states");
  Tensor of_convolved = k.convolved();
  Tensor of_normed = Scan::make({k.rows(), k.width()}, formats.output, "gradient of the norm");
  Tensor of_scanned, of_norm;
  if (formats.has_norm) {
    of_scanned = Scan::make({k.rows(), k.width()}, dtype, "gradient of the scan");
    const Tensor parts = k.fp32({k.norm_rows(), k.width()}, "weight gradient");
    of_norm = k.fp32({k.width()}, "weight gradient");
    of_norm = cast_to(std::move(of_norm), formats.norm);
  }
  note_scan(Pass::backward, k, 3);
  Tensor of_step, of_decay;
  GateGradient gate;
  Tensor of_skip =
      scan_backward(k, formats.skip, formats.has_norm ? nullptr : &gate, formats.output, of_step, of_decay);
  if (!formats.has_norm) of_skip = std::move(gate.skip);
  gate.scanned.reset();
  const Size elements = hidden * k.width();
  note_linear_backward(k.rows(), elements, elements * element_bytes(formats.output), true, true);
  Tensor of_output;
  {
    const Tensor low = formats.output == dtype ? Tensor() : Scan::make(normed.shape(), formats.output, "gated norm");
    of_output = Scan::make({hidden, k.width()}, formats.output, "weight gradient");
  }
  Tensor of_output_bias;
  if (formats.output_bias) of_output_bias = Scan::make({hidden}, formats.output, "bias gradient");
  Tensor of_convolution = k.fp32({k.channels(), 1, formats.conv_width}, "weight gradient");
  Tensor of_bias;
  if (formats.convolution_bias) of_bias = k.fp32({k.channels()}, "bias gradient");
  of_convolution = cast_to(std::move(of_convolution), formats.convolution);
  if (of_bias.defined()) of_bias = cast_to(std::move(of_bias), formats.convolution);
  for (Tensor* gone : {&of_scanned, &convolved, &of_convolved, &normed, &of_normed, &gate.gated}) gone->reset();
  Tensor* all[] = {&gradient, &of_convolution, &of_bias,   &of_step,       &of_decay,
                   &of_skip,  &of_norm,        &of_output, &of_output_bias};
  for (int i = 0; i < 9; ++i)
    if (b.wants(i)) b.give(i, std::move(*all[i]));
}

}  // namespace

Tensor decay_of(Tensor argument) {
  const Tensor x = to(std::move(argument), DType::float32);
  const Ref<Node> node = begin_node(exp_rule, {&x});
  Tensor result = allocate(x.shape(), DType::float32, {&exp_rule});
  keep(node, result);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(kept.shape(), DType::float32, {&exp_rule}));
    };
  finish_node(node, result);
  return negate(std::move(result));
}

Tensor mamba_split_conv1d_scan(Tensor argument, const MambaWeights& w, const Mamba& sizes) {
  const Tensor projected = std::move(argument);
  const Scan k(projected, sizes);
  const Ref<Node> node = begin_node(scan_rule, {&projected, &w.convolution, &w.convolution_bias, &w.step_bias, &w.decay,
                                                &w.skip, &w.norm, &w.output, &w.output_bias});
  const Size hidden = w.output.size(0);
  const Tensor convolved = k.convolved();
  const Tensor sums = k.steps("sums of the decay");
  const Tensor step = k.steps("steps");
  Tensor of_chunks = k.fp32({k.b, k.c, k.a, k.p, k.n}, "states of chunks");
  const Tensor passed = k.states(k.dtype, "states");
  const Tensor last = k.fp32({k.b, k.a, k.p * k.n}, "last state");
  of_chunks.reset();
  Tensor products = k.products();
  Tensor normed;
  if (!w.norm.defined()) normed = Scan::make({k.rows(), k.width()}, k.dtype, "gated scan");
  const Tensor scanned = Scan::make({k.b, k.s, k.a, k.p}, k.dtype, "scan");
  products.reset();
  Tensor inverse;
  if (w.norm.defined()) {
    normed = Scan::make({k.rows(), k.width()}, k.dtype, "gated norm");
    inverse = k.fp32({k.g * k.rows()}, "1/rms");
  }
  // Under autocast the result and the weight are cast for this call alone.
  const Autocast autocast = active_run().autocast;
  const DType computation = autocast.enabled ? autocast.dtype : k.dtype;
  const auto cast = [&](const Tensor& x, const char* role) {
    if (!x.defined() || x.dtype() == computation) return x;
    return Scan::make(x.shape(), computation, role);
  };
  Tensor low = cast(normed, "gated norm");
  const Tensor output = cast(w.output, "copy of the output projection");
  normed = std::move(low);
  const Tensor output_bias = cast(w.output_bias, "copy of the output projection");
  note_scan(Pass::forward, k, 1);
  note_linear(Pass::forward, k.rows(), w.output.elements(), w.output.elements() * element_bytes(computation));
  Tensor result = Scan::make({k.rows(), hidden}, computation, "output of the mixer");
  normed.reset();
  for (const Tensor* kept : {&projected, &w.convolution, &scanned, &w.decay, &w.skip, &w.step_bias, &output})
    keep(node, *kept);
  for (const Tensor* kept : {&w.norm, &static_cast<const Tensor&>(inverse), &w.convolution_bias, &output_bias})
    if (kept->defined()) keep(node, *kept);
  result = alias(result, {k.b, k.s, hidden}, contiguous_strides({k.b, k.s, hidden}));
  if (node)
    node->backward = [k, hidden, formats = Formats(w, computation)](Backward& b) { backward(b, k, hidden, formats); };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
