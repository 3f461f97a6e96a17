// The routers of the families: how scores come from the logits, and weights from the scores.
#include <cassert>

#include "engine/blocks/transformers/balancing_loss.h"
#include "engine/blocks/transformers/experts.h"
#include "engine/blocks/transformers/sparse_mixer.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

constexpr Rule correction_rule{"router correction", "a buffer that balances the load without a gradient",
                               "transformers models/deepseek_v3/modeling_deepseek_v3.py: e_score_correction_bias"};
constexpr Rule group_rule{"scores for choice", "", "transformers models/deepseek_v3/modeling_deepseek_v3.py"};

struct RouterForm {
  const char* model_type;
  enum class Scores {
    softmax,
    softmax_in_fp32,
    softmax_in_groups,
    sigmoid,
    softmax_of_chosen,
    sigmoid_of_chosen,
    corrected_softmax,
    corrected_low_sigmoid,
    corrected_sigmoid,
    sparse_mixer
  } scores = Scores::softmax;
  bool normalises = false;           ///< the weights of a token add up to one
  bool casts = true;                 ///< weights in the format of the logits
  bool casts_to_tokens = false;      ///< or of the tokens
  bool fp32 = true;                  ///< sigmoid: logits from tokens and weight in fp32
  bool fp32_weight = false;          ///< the router's weight is made in fp32 whatever the model is in
  bool corrects_in_weights = false;  ///< the correction has the format of the weights
  bool returns_logits = false;       ///< fp32 logits are held until the block returns
  bool scales = true;     ///< corrected sigmoid: weights times a number, and a number added to what divides them
  bool balanced = false;  ///< the model has a loss of the logits: balancing_loss.h
};

using Scores = RouterForm::Scores;

// modeling_<model_type>.py. Qwen3: norm_topk_prob as its published models have it.
constexpr RouterForm forms[] = {
    {.model_type = "mixtral", .normalises = true, .casts = false, .balanced = true},
    {.model_type = "grok-1", .normalises = true, .casts = false},  // Mixtral's: grok() in llama_form.cpp
    {.model_type = "qwen2_moe", .balanced = true},
    {.model_type = "qwen3_moe", .normalises = true, .balanced = true},
    {.model_type = "olmoe", .balanced = true},
    {.model_type = "deepseek_v2", .scores = Scores::softmax_in_fp32, .returns_logits = true},
    {.model_type = "deepseek_ocr2_text", .scores = Scores::softmax_in_fp32, .returns_logits = true},
    {.model_type = "deepseek_v3", .scores = Scores::sigmoid, .normalises = true, .returns_logits = true},
    {.model_type = "glm4_moe", .scores = Scores::sigmoid, .normalises = true, .returns_logits = true},
    {.model_type = "minimax_m2", .scores = Scores::sigmoid, .normalises = true, .fp32 = false, .balanced = true},
    {.model_type = "gpt_oss", .scores = Scores::softmax_of_chosen, .balanced = true},
    {.model_type = "minimax", .normalises = true, .casts = false, .balanced = true},
    {.model_type = "dots1", .scores = Scores::sigmoid, .normalises = true, .returns_logits = true},
    {.model_type = "glm4_moe_lite", .scores = Scores::sigmoid, .normalises = true, .returns_logits = true},
    {.model_type = "solar_open", .scores = Scores::sigmoid, .normalises = true, .returns_logits = true},
    {.model_type = "exaone_moe", .scores = Scores::sigmoid, .normalises = true, .returns_logits = true},
    {.model_type = "qwen3_vl_moe_text", .normalises = true},
    {.model_type = "qwen3_next", .normalises = true, .balanced = true},
    {.model_type = "qwen3_5_moe_text", .normalises = true, .balanced = true},
    {.model_type = "nemotron_h", .scores = Scores::sigmoid, .normalises = true, .returns_logits = true},
    {.model_type = "lfm2_moe", .scores = Scores::corrected_low_sigmoid, .normalises = true},
    {.model_type = "phimoe", .scores = Scores::sparse_mixer, .balanced = true},
    {.model_type = "flex_olmo", .balanced = true},
    {.model_type = "jamba", .casts = false, .casts_to_tokens = true},
    {.model_type = "hunyuan_v1_moe", .normalises = true, .fp32_weight = true},
    {.model_type = "deepseek_v32", .scores = Scores::sigmoid, .normalises = true, .returns_logits = true},
    {.model_type = "glm_moe_dsa", .scores = Scores::sigmoid, .normalises = true, .returns_logits = true},
    {.model_type = "mellum", .normalises = true, .balanced = true},
    {.model_type = "mistral4", .scores = Scores::softmax_in_groups, .normalises = true},
    {.model_type = "axk1",
     .scores = Scores::sigmoid,
     .normalises = true,
     .corrects_in_weights = true,
     .returns_logits = true},
    {.model_type = "glm4v_moe_text", .scores = Scores::sigmoid, .normalises = true, .returns_logits = true},
    {.model_type = "qwen3_omni_moe_text", .normalises = true},
    {.model_type = "cohere2_moe", .scores = Scores::sigmoid_of_chosen, .normalises = true},
    {.model_type = "afmoe",
     .scores = Scores::corrected_sigmoid,
     .casts = false,
     .fp32 = false,
     .corrects_in_weights = true},
    {.model_type = "laguna",
     .scores = Scores::corrected_sigmoid,
     .fp32 = false,
     .corrects_in_weights = true,
     .scales = false,
     .balanced = true},
    {.model_type = "step3p5",
     .scores = Scores::corrected_sigmoid,
     .normalises = true,
     .casts = false,
     .fp32 = false,
     .corrects_in_weights = true,
     .scales = false},
    {.model_type = "mimo_v2_flash", .scores = Scores::sigmoid, .normalises = true, .returns_logits = true},
    {.model_type = "hy_v3", .scores = Scores::corrected_sigmoid, .casts = false},
    {.model_type = "ernie4_5_moe",
     .scores = Scores::corrected_softmax,
     .normalises = true,
     .fp32_weight = true,
     .balanced = true},
};

const RouterForm* find_form(const Model& model) {
  for (const RouterForm& form : forms)
    if (model.model_type == form.model_type) return &form;
  return nullptr;
}

const RouterForm& form_of(const Model& model) {
  const RouterForm* form = find_form(model);
  assert(form != nullptr);  // report_not_modelled asks has_router first
  return *form;
}

Tensor normalised(Tensor weights) {
  const Tensor total = sum(autocast_fp32(weights), 1, true);
  return divide_in_place(std::move(weights), total);
}

/// F.linear(tokens.type(torch.float32), weight.type(torch.float32)).
Tensor logits_in_fp32(const Tensor& tokens, const Tensor& weight) {
  const Tensor input = to(tokens, DType::float32, "tokens in fp32");
  const Tensor cast = to(weight, DType::float32, "router weight in fp32");
  return linear(input, cast, {}, "router logits");
}

}  // namespace

bool has_router(const Model& model) { return find_form(model) != nullptr; }

bool has_balancing_loss(const Model& model) {
  const RouterForm* form = find_form(model);
  return form != nullptr && form->balanced;
}

Router::Router(const Model& m, DType dtype) : model_(m) {
  const Size n = m.experts.num_experts;
  weight_ = make_parameter({n, m.hidden_size}, form_of(m).fp32_weight ? DType::float32 : dtype, "router");
  const bool jamba = m.model_type == "jamba";
  if (jamba || m.model_type == "hunyuan_v1_moe")
    beside_ = make_adapter(m.hidden_size, n, jamba ? "router projection" : "router");
  else
    adapter_ = ExpertAdapter(m.hidden_size, n, 1, 1, "router");
  const Scores scores = form_of(m).scores;
  if (scores == Scores::softmax_of_chosen) bias_ = make_parameter({n}, dtype, "router");
  const bool corrects = scores == Scores::sigmoid || scores == Scores::corrected_softmax ||
                        scores == Scores::corrected_low_sigmoid || scores == Scores::corrected_sigmoid;
  if (!corrects) return;
  correction_ = model_buffer({n}, form_of(m).corrects_in_weights ? dtype : DType::float32, correction_rule);
}

Routing Router::softmax_scores(const Tensor& tokens) const {
  const RouterForm& form = form_of(model_);
  Routing routing;
  // models/hunyuan_v1_moe/modeling_hunyuan_v1_moe.py: HunYuanMoEV1Gate. FSDP's mixed precision gathers it in 16 bits.
  const bool in_fp32 = form.fp32_weight && weight_.dtype() == DType::float32;
  const Tensor input = in_fp32 ? to(tokens, DType::float32, "tokens in fp32") : tokens;
  routing.logits = linear(input, weight_, {}, "router logits");
  if (beside_.defined()) routing.logits = beside_(routing.logits, input);
  const Tensor probabilities = softmax(routing.logits, DType::float32);
  Chosen chosen = top_k(probabilities, model_.experts.num_experts_per_tok);
  if (form.normalises) chosen.values = normalised(std::move(chosen.values));
  if (form.casts || active_run().settings.legacy_models) chosen.values = to(chosen.values, routing.logits.dtype());
  if (form.casts_to_tokens) chosen.values = to(chosen.values, tokens.dtype());
  routing.experts = chosen.indices;
  routing.weights = chosen.values;
  return routing;
}

Routing Router::softmax_in_fp32(const Tensor& tokens) const {
  const Tensor logits = logits_in_fp32(tokens, weight_);
  const Tensor scores = softmax(logits, DType::float32);
  const Chosen chosen = top_k(scores, model_.experts.num_experts_per_tok);
  Routing routing;
  if (form_of(model_).returns_logits) routing.logits = logits;
  routing.weights = multiply_number(chosen.values);
  routing.experts = chosen.indices;
  return routing;
}

// models/mistral4/modeling_mistral4.py: Mistral4TopkRouter.
Routing Router::softmax_in_groups(const Tensor& tokens) const {
  Routing routing;
  routing.logits = linear(tokens, weight_, {}, "router logits");
  const Tensor scores = softmax(routing.logits);
  {
    const Set<bool> no_grad(active_run().grad_enabled, false);
    const Tensor masked = allocate(scores.shape(), scores.dtype(), {&group_rule});
    routing.experts = top_k(masked, model_.experts.num_experts_per_tok).indices;
  }
  Tensor weights = gather(scores, routing.experts);
  const Tensor total = add_number(sum(autocast_fp32(weights), 1, true));
  weights = divide_in_place(std::move(weights), total);
  routing.weights = multiply_number(std::move(weights));
  return routing;
}

// route_tokens_to_experts(): the choice itself wants no gradient.
Routing Router::sigmoid_scores(const Tensor& tokens) const {
  Routing routing;
  Tensor scores;
  if (form_of(model_).fp32) {
    const Tensor logits = logits_in_fp32(tokens, weight_);
    if (form_of(model_).returns_logits) routing.logits = logits;
    scores = sigmoid(logits);
  } else {
    routing.logits = linear(tokens, weight_, {}, "router logits");
    scores = sigmoid(to(routing.logits, DType::float32));
  }
  {
    const Set<bool> no_grad(active_run().grad_enabled, false);
    const Tensor corrected = allocate(scores.shape(), scores.dtype(), {&group_rule});
    const Tensor masked = allocate(scores.shape(), scores.dtype(), {&group_rule});
    routing.experts = top_k(masked, model_.experts.num_experts_per_tok).indices;
  }
  Tensor weights = normalised(gather(scores, routing.experts));
  routing.weights = multiply_number(std::move(weights));
  return routing;
}

Routing Router::softmax_of_chosen(const Tensor& tokens) const {
  Routing routing;
  routing.logits = linear(tokens, weight_, bias_, "router logits");
  const Chosen chosen = top_k(routing.logits, model_.experts.num_experts_per_tok);
  routing.weights = softmax(chosen.values, chosen.values.dtype());
  routing.experts = chosen.indices;
  return routing;
}

// models/cohere2_moe/modeling_cohere2_moe.py: Cohere2MoeTopKRouter, as its published models have it.
Routing Router::sigmoid_of_chosen(const Tensor& tokens) const {
  Routing routing;
  routing.logits = linear(tokens, weight_, {}, "router logits");
  const Chosen chosen = top_k(routing.logits, model_.experts.num_experts_per_tok);
  routing.experts = chosen.indices;
  Tensor weights = sigmoid(chosen.values);
  const Tensor total = sum(autocast_fp32(weights), 1, true);
  weights = divide(weights, total);
  routing.weights = to(std::move(weights), tokens.dtype());
  return routing;
}

// models/ernie4_5_moe/modeling_ernie4_5_moe.py: Ernie4_5_MoeTopKRouter, in fp32 under autocast, too.
Routing Router::corrected_softmax(const Tensor& tokens) const {
  Routing routing;
  {
    const Set<bool> off(active_run().autocast.enabled, false);
    const Tensor logits = logits_in_fp32(tokens, weight_);
    const Tensor probabilities = softmax(logits, DType::float32);
    routing.logits = logits;
    {
      const Tensor corrected = add(probabilities, correction_);
      routing.experts = top_k(corrected, model_.experts.num_experts_per_tok).indices;
    }
    const Tensor chosen = gather(probabilities, routing.experts);
    const Tensor total = clamp(sum(chosen, 1, true), 1);
    routing.weights = chosen * total;  // divided; what a division keeps, a product keeps
  }
  routing.weights = to(std::move(routing.weights), tokens.dtype());
  return routing;
}

// models/lfm2_moe/modeling_lfm2_moe.py: Lfm2MoeTopKRouter, in the format of the logits; the correction is in fp32.
Routing Router::corrected_low_sigmoid(const Tensor& tokens) const {
  Routing routing;
  routing.logits = linear(tokens, weight_, {}, "router logits");
  const Tensor scores = sigmoid(routing.logits);
  const Tensor corrected = add(scores, correction_);
  const Chosen chosen = top_k(corrected, model_.experts.num_experts_per_tok);
  routing.experts = chosen.indices;
  Tensor weights = gather(scores, routing.experts);
  const Tensor total = add_number(sum(autocast_fp32(weights), 1, true));
  weights = divide(weights, total);
  routing.weights = multiply_number(std::move(weights));
  return routing;
}

// models/afmoe, hy_v3 and laguna, modeling_*.py: the choice is made of the scores that the weights are taken from.
Routing Router::corrected_sigmoid(const Tensor& tokens) const {
  Routing routing;
  routing.logits = form_of(model_).fp32 ? logits_in_fp32(tokens, weight_)
                                        : to(linear(tokens, weight_, {}, "router logits"), DType::float32);
  const Tensor scores = sigmoid(routing.logits);
  const bool scales = form_of(model_).scales;
  const Tensor corrected = add(scores, scales ? correction_ : to(correction_, scores.dtype()));
  const Chosen chosen = top_k(corrected, model_.experts.num_experts_per_tok);
  Tensor weights = gather(scores, chosen.indices);
  if (form_of(model_).normalises) {  // models/step3p7/modeling_step3p7.py: Step3p7TopKRouter
    routing.weights = normalised(std::move(weights));
    routing.experts = chosen.indices;
    return routing;
  }
  Tensor total = sum(autocast_fp32(weights), 1, true);
  if (scales) total = add_number(std::move(total));
  weights = divide(weights, total);
  if (scales) weights = multiply_number(weights);
  routing.experts = chosen.indices;
  routing.weights = form_of(model_).casts ? to(std::move(weights), tokens.dtype()) : std::move(weights);
  return routing;
}

Routing Router::route(const Tensor& tokens) const {
  switch (form_of(model_).scores) {
    case Scores::softmax: return softmax_scores(tokens);
    case Scores::softmax_in_fp32: return softmax_in_fp32(tokens);
    case Scores::softmax_in_groups: return softmax_in_groups(tokens);
    case Scores::sigmoid: return sigmoid_scores(tokens);
    case Scores::softmax_of_chosen: return softmax_of_chosen(tokens);
    case Scores::sigmoid_of_chosen: return sigmoid_of_chosen(tokens);
    case Scores::corrected_softmax: return corrected_softmax(tokens);
    case Scores::corrected_low_sigmoid: return corrected_low_sigmoid(tokens);
    case Scores::corrected_sigmoid: return corrected_sigmoid(tokens);
    case Scores::sparse_mixer: return sparse_mixer(linear(tokens, weight_, {}, "router logits"));
  }
  return {};
}

Routing Router::operator()(const Tensor& tokens) const {
  const Place place("router");
  const Tensor product = adapter_.defined() ? adapter_.product(weight_) : Tensor();
  Router adapted = *this;
  if (product.defined()) adapted.weight_ = add(weight_, product, "router with LoRA");
  Routing routing = adapted.route(tokens);
  collect_router_logits(routing.logits);
  return routing;
}

}  // namespace trainmem::transformers
