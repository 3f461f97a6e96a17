#include "engine/blocks/transformers/experts.h"

#include "engine/blocks/transformers/llama_form.h"
#include "engine/blocks/transformers/separate_experts.h"
#include "engine/blocks/transformers/sparse_mixer.h"
#include "engine/parameters/layout.h"
#include "engine/parameters/parameters.h"

namespace trainmem::transformers {

namespace {

constexpr Rule integers_rule{"token index", "", "transformers integrations/moe.py: grouped_mm_experts_forward"};

/// (S,) of int64.
Tensor integers(Size size) { return allocate({size}, DType::int64, {&integers_rule}); }

constexpr Rule sentinel_rule{"sentinel mask", "where rows are of no expert of this GPU",
                             "transformers integrations/moe.py: grouped_mm_experts_forward"};

/// x.masked_fill_(mask, 0): x goes on as the result.
Tensor filled(Tensor argument, const Tensor& mask) {
  if (!mask.defined()) return argument;
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(sentinel_rule, {&x});
  keep(node, mask);
  Tensor result = alias(x, x.shape(), x->strides);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor& gradient = b.gradient();
      b.give(0, allocate_like(gradient, gradient.shape(), gradient.dtype(), {&sentinel_rule}));
    };
  finish_node(node, result);
  return result;
}

/// Every token as a row.
Tensor rows_of(const Tensor& x) { return view(x, {x.elements() / x.size(-1), x.size(-1)}); }

bool has(const Model& model, bool LlamaForm::*property) {
  const LlamaForm* form = llama_form(model);
  return form != nullptr && form->*property;
}

}  // namespace

RoutedExperts::RoutedExperts(const Model& m, DType dtype)
    : model_(m),
      turned_(parameter_layout(m.model_type).turned_experts),
      clamps_(has(m, &LlamaForm::clamps)),
      masks_sentinels_(has(m, &LlamaForm::masks_sentinels)) {
  const Size n = m.experts.num_experts;
  const Size h = m.experts.moe_latent_size > 0 ? Size(m.experts.moe_latent_size) : m.hidden_size;
  const Size i = m.experts.moe_intermediate_size;
  const Size up = Size(m.gated_mlp ? 2 : 1) * i;
  const auto stack = [&](const Size& out, const Size& in, const char* name) {
    return make_parameter(turned_ ? Shape{n, in, out} : Shape{n, out, in}, dtype, name);
  };
  gate_up_ = stack(up, h, "expert gate and up");
  if (m.experts.expert_bias) gate_up_bias_ = make_parameter({n, up}, dtype, "expert gate and up");
  down_ = stack(h, i, "expert down");
  if (m.experts.expert_bias) down_bias_ = make_parameter({n, h}, dtype, "expert down");
  gate_up_adapter_ = ExpertAdapter(h, up, n, m.gated_mlp ? 2 : 1, "expert gate and up");
  down_adapter_ = ExpertAdapter(i, h, n, 1, "expert down");
}

Tensor RoutedExperts::activated(const Tensor& gate_up) const {
  if (!model_.gated_mlp) return activate(gate_up, model_.hidden_act);
  if (model_.hidden_act == Activation::clamped_swiglu) {
    // models/gpt_oss/modeling_gpt_oss.py: GptOssExperts._apply_gate
    Tensor gate = every_second(gate_up, 0);
    Tensor up = every_second(gate_up, 1);
    gate = clamp(gate, 1);
    up = clamp(up);
    const Tensor glu = gate * sigmoid(multiply_number(gate));
    return add_number(up) * glu;
  }
  const Size i = model_.experts.moe_intermediate_size;
  const std::vector<Tensor> parts = split(gate_up, {i, i}, -1);
  Tensor gate = activate(parts[0], model_.hidden_act);
  if (clamps_) {
    gate = clamp(std::move(gate), 1);
    const Tensor up = clamp(parts[1]);
    return gate * up;
  }
  return std::move(gate) * parts[1];
}

// models/step3p7/modeling_step3p7.py: Step3p7Experts. An expert has its share of the token copies.
Tensor RoutedExperts::in_turn(const Tensor& tokens, const Routing& routing) const {
  const std::int64_t experts = model_.experts.num_experts;
  const Size copies = routing.experts.elements();
  Tensor total = allocate(tokens.shape(), tokens.dtype(), {&integers_rule, "sum of experts"});
  const Tensor chosen = expert_mask(copies, experts);
  const Tensor weights = view(routing.weights, {copies});
  Tensor found;
  Tensor out;
  for (std::int64_t e = 0; e < experts; ++e) {
    const Size each = copies / Size(experts);
    found = places_of_expert(e + 1 < experts ? each : copies - each * Size(experts - 1));
    const Tensor rows = select(found, 1, 1);
    Tensor state = index_rows(tokens, rows, "tokens of an expert");
    Tensor weight_of_expert = select(gate_up_, 0, e);
    out = linear(std::move(state), weight_of_expert);
    weight_of_expert.reset();
    out = activated(out);
    weight_of_expert = select(down_, 0, e);
    Tensor computed = linear(std::move(out), weight_of_expert);
    weight_of_expert.reset();
    Tensor weight = unsqueeze(index_rows(weights, rows), 1);
    out = std::move(computed) * std::move(weight);
    total = index_add_in_place(std::move(total), to(out, tokens.dtype()), rows);
  }
  return total;
}

// integrations/moe.py: grouped_mm_experts_forward, line by line. S token copies: tokens times experts per token.
Tensor RoutedExperts::operator()(const Tensor& tokens, const Routing& routing) const {
  const Place place("experts");
  if (clamps_) return in_turn(tokens, routing);
  // peft's wrapper of the second matrices is around that of the first. All is held until both have returned.
  const Tensor of_down = down_adapter_.defined() ? down_adapter_.product(down_) : Tensor();
  const Tensor of_gate_up = gate_up_adapter_.defined() ? gate_up_adapter_.product(gate_up_) : Tensor();
  const auto adapted = [](const Tensor& weight, const Tensor& product) {
    return product.defined() ? add(weight, product, "experts with LoRA") : weight;
  };
  const Size top = routing.experts.size(1);
  const Shape copies{tokens.size(0) * top};
  const Tensor sample_weights = reshape(routing.weights, copies);
  const Chosen sorted = sort(view(routing.experts, copies), "order by expert");
  Tensor source = allocate(copies, DType::int64, {&integers_rule, "source of a token copy"});
  Tensor selected = index_rows(tokens, source, "tokens by expert");
  if (masks_sentinels_) source.reset();
  const Tensor weights = index_rows(sample_weights, sorted.indices, "routing weights by expert");
  const Size n = model_.experts.num_experts;
  Tensor narrow = allocate(copies, DType::int32, {&integers_rule, "expert of a token copy"});
  const Tensor counts = allocate({n}, DType::int32, {&integers_rule});
  if (!masks_sentinels_) narrow.reset();
  const Tensor offsets = allocate({n}, DType::int32, {&integers_rule, "where each expert's tokens end"});
  Tensor sentinels;
  if (masks_sentinels_) sentinels = allocate({copies[0], 1}, DType::boolean, {&sentinel_rule});
  const auto biases_of = [&](const Tensor& bias) {
    return bias.defined() ? index_rows(bias, sorted.values) : Tensor();
  };
  const auto projected = [&](const Tensor& x, const Tensor& weight, const Tensor& biases, const char* role) {
    Tensor out = grouped_linear(x, weight, offsets, turned_, role);
    return biases.defined() ? add_in_place(std::move(out), biases) : out;
  };
  const Tensor gate_up = adapted(gate_up_, of_gate_up);
  Tensor biases = biases_of(gate_up_bias_);  // the first ones until the others are there, and those to the end
  selected = filled(std::move(selected), sentinels);
  Tensor out = projected(selected, gate_up, biases, "expert gate and up");
  out = activated(out);
  const Tensor down = adapted(down_, of_down);
  biases = biases_of(down_bias_);
  out = projected(out, down, biases, "expert down");
  Tensor weighted = multiply(out, unsqueeze(weights, 1), "weighted expert output");
  weighted = filled(std::move(weighted), sentinels);
  const Tensor back = integers(copies[0]);
  { const Tensor range = integers(copies[0]); }
  weighted = index_rows(weighted, back, "weighted expert output");
  const Tensor total = sum(view(weighted, {tokens.size(0), top, tokens.size(1)}), 1);
  return to(total, tokens.dtype());
}

SparseFeedForward::SparseFeedForward(const Model& m, const LlamaForm& form, DType dtype)
    : form_(form), jitters_(form.jitter && m.experts.input_jitter) {
  const auto make_router = [&] { router_.emplace(m, dtype); };
  const auto make_experts = [&] {
    if (active_run().settings.legacy_models && SeparateExperts::describe(m))
      separate_ = std::make_unique<SeparateExperts>(m, dtype);
    else
      experts_.emplace(m, dtype);
  };
  const Experts& e = m.experts;
  const auto make_shared = [&] {
    if (e.n_shared_experts > 0) shared_.emplace(m, form, dtype, Size(shared_expert_width(m)));
  };
  const ParameterLayout layout = parameter_layout(m.model_type);
  if (!layout.router_after_experts) make_router();
  if (layout.shared_before_experts) make_shared();
  make_experts();
  if (layout.router_after_experts) make_router();
  if (!layout.shared_before_experts) make_shared();
  if (form.norm_of_sum) norm_ = llama_norm_layer(m, form, dtype);
  if (e.shared_expert_gate) shared_gate_.emplace(m.hidden_size, 1, false, dtype, "shared expert gate");
  if (e.moe_latent_size > 0) {
    into_latent_.emplace(m.hidden_size, e.moe_latent_size, m.mlp_bias, dtype, "into experts' width");
    out_of_latent_.emplace(e.moe_latent_size, m.hidden_size, m.mlp_bias, dtype, "out of experts' width");
  }
}

SparseFeedForward::~SparseFeedForward() = default;

Tensor SparseFeedForward::operator()(const Tensor& given) const {
  const Tensor x = jitters_ ? jittered(given) : given;
  const Tensor tokens = jitters_ ? jittered(rows_of(x)) : rows_of(x);
  if (separate_) {
    const Routing routing = (*router_)(tokens);
    return view((*separate_)(tokens, routing), x.shape());
  }
  const auto shared_at = [&](const Tensor& input) {
    const Place place("shared expert");
    return (*shared_)(input);
  };
  if (shared_gate_) {  // models/qwen2_moe/modeling_qwen2_moe.py: Qwen2MoeSparseMoeBlock
    Tensor shared = shared_at(tokens);
    const Routing routing = (*router_)(tokens);
    Tensor out = (*experts_)(tokens, routing);
    {
      const Place place("shared expert");
      Tensor gate = sigmoid((*shared_gate_)(tokens));
      shared = std::move(gate) * shared;
    }
    out = std::move(out) + shared;
    return view(out, x.shape());
  }
  // models/ernie4_5_moe and laguna, modeling_*.py: Ernie4_5_MoeSparseMoeBlock, LagunaSparseMoeBlock
  if (shared_ && form_.shared == LlamaForm::Shared::first) {
    const Tensor shared = shared_at(tokens);
    const Routing routing = (*router_)(tokens);
    Tensor out = (*experts_)(tokens, routing);
    if (form_.scaled_experts) out = multiply_number(std::move(out));
    out = std::move(out) + shared;
    return view(out, x.shape());
  }
  // models/deepseek_v3/modeling_deepseek_v3.py, DeepseekV3MoE: beside shared experts the router takes its own view.
  const bool own_view =
      form_.router_views || (shared_ && !form_.sum_in_fp32 && form_.shared != LlamaForm::Shared::averaged);
  const Routing routing = (*router_)(own_view ? rows_of(x) : tokens);
  if (shared_ && form_.shared == LlamaForm::Shared::after_router) {  // models/afmoe/modeling_afmoe.py
    const Tensor shared = view(shared_at(tokens), x.shape());
    const Tensor out = view((*experts_)(tokens, routing), x.shape());
    return shared + out;
  }
  if (shared_ && form_.sum_in_fp32) {  // models/hy_v3/modeling_hy_v3.py: HYV3MoE
    const Tensor out = (*experts_)(tokens, routing);
    Tensor of_routed = to(out, DType::float32);
    Tensor of_shared = to(shared_at(tokens), DType::float32);
    return view(to(std::move(of_routed) + std::move(of_shared), x.dtype()), x.shape());
  }
  if (shared_ && form_.shared == LlamaForm::Shared::averaged) {  // models/cohere2_moe: Cohere2MoeSparseMoeBlock
    const Tensor out = (*experts_)(tokens, routing);
    const Tensor shared = shared_at(tokens);
    return view(multiply_number(out + shared), x.shape());
  }
  const Tensor routed = own_view ? rows_of(x) : tokens;  // after the router's
  Tensor out = (*experts_)(into_latent_ ? (*into_latent_)(routed) : routed, routing);
  if (out_of_latent_) out = (*out_of_latent_)(std::move(out));
  out = view(out, x.shape());
  if (!shared_) return out;
  Tensor shared = shared_at(x);  // models/deepseek_v3/modeling_deepseek_v3.py: DeepseekV3MoE
  if (!norm_) return std::move(out) + std::move(shared);
  out = std::move(out) + std::move(shared);
  return (*norm_)(std::move(out));  // models/axk1/modeling_axk1.py: AXK1MoE
}

}  // namespace trainmem::transformers
