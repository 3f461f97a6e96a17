// The configuration classes of DeepSeek's kind: latent attention, experts chosen by corrected scores, or both.
//
// Source: src/transformers/models/*/configuration_*.py, release 5;
// configuration_deepseek.py of deepseek-ai/deepseek-moe-16b-base.
#include <string>

#include "engine/parameters/indexer.h"
#include "engine/presets/huggingface/class_parts.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

/// Experts of DeepSeek V3's kind: chosen by corrected sigmoids, beside one that all tokens share.
Experts deepseek_experts(std::int64_t count, std::int64_t chosen, std::int64_t width, std::int64_t dense_layers) {
  Experts experts;
  experts.num_experts = count;
  experts.num_experts_per_tok = chosen;
  experts.moe_intermediate_size = width;
  experts.n_shared_experts = 1;
  experts.first_k_dense_replace = dense_layers;
  experts.router_bias = true;
  return experts;
}

Model deepseek() {
  Model model = of_class("deepseek", 102400, 4096, 30, 32, 32, 11008, 2048);
  model.experts.num_experts = 64;
  model.experts.num_experts_per_tok = 6;
  model.experts.moe_intermediate_size = 1407;
  model.experts.n_shared_experts = 2;
  return model;
}

void read_deepseek(Model& model, const Keys& keys, Issues&) {
  keys.read(model.experts.moe_layer_freq, {"moe_layer_freq"});
}

Model deepseek_v2() {
  Model model = of_class("deepseek_v2", 32000, 4096, 32, 32, 0, 11008, 2048);
  model.experts.num_experts = 64;
  model.experts.n_shared_experts = 2;
  model.experts.moe_intermediate_size = 1407;
  model.latent_attention = {1536, 512, 128, 64, 128};
  return model;
}

/// The language model of DeepSeek-OCR and of the smallest DeepSeek-VL2: DeepSeek-V2's experts beside Llama's attention.
Model deepseek_ocr2() {
  Model model = deepseek_v2();
  model.model_type = "deepseek_ocr2_text";
  model.vocab_size = 102400;
  model.latent_attention = {};
  return model;
}

Model deepseek_v3() {
  Model model = of_class("deepseek_v3", 129280, 7168, 61, 128, 128, 18432, 4096);
  model.latent_attention = {1536, 512, 128, 64, 128};
  model.experts = deepseek_experts(256, 8, 2048, 3);
  return model;
}

Model deepseek_v32() {
  Model model = of_class("deepseek_v32", 129280, 7168, 61, 128, 128, 18432, 163840);
  model.latent_attention = {1536, 512, 128, 64, 128};
  model.experts = deepseek_experts(256, 8, 2048, 3);
  return model;
}

/// Sizes of the indexer are facts of the class here, and every layer has its own.
void read_indexer(Model& model, const Keys& keys, Issues& issues) {
  model.mlp_bias = false;  // a key of the class that its layers do not take
  const Indexer own = indexer_of(model.model_type);
  struct {
    const char* key;
    std::int64_t of_class;
  } const sizes[] = {{"index_n_heads", own.heads},
                     {"index_head_dim", own.head_dim},
                     {"index_topk", own.chosen},
                     {"index_topk_freq", 1}};
  for (const auto& [key, of_class] : sizes) {
    std::int64_t given = of_class;
    keys.read(given, {key});
    if (given != of_class)
      report_not_modelled_key(issues, key,
                              "An indexer of this class with another " + std::string(key) + " than " +
                                  std::to_string(of_class) + " is not modelled.");
  }
  if (keys.find({"index_topk_pattern"}) != nullptr)
    report_not_modelled_key(issues, "index_topk_pattern", "Layers that share an indexer's choice are not modelled.");
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    const auto* type = keys.find({"indexer_types." + std::to_string(i)});
    if (type == nullptr || type->text == "full") continue;
    return report_not_modelled_key(issues, "indexer_types", "Layers that share an indexer's choice are not modelled.");
  }
}

Model glm_moe_dsa() {
  Model model = of_class("glm_moe_dsa", 154880, 6144, 78, 64, 64, 12288, 202752);
  model.latent_attention = {2048, 512, 192, 64, 256};
  model.experts = deepseek_experts(256, 8, 2048, 3);
  return model;
}

Model glm4_moe() {
  Model model = of_class("glm4_moe", 151552, 4096, 46, 96, 8, 10944, 131072);
  model.head_dim = 128;
  model.partial_rotary_factor = 0.5;
  model.experts = deepseek_experts(128, 8, 1408, 1);
  return model;
}

void read_glm4_moe(Model& model, const Keys& keys, Issues&) {
  if (keys.flag("use_qk_norm", false)) model.qk_norm = QkNorm::per_head;
}

Model glm4_moe_lite() {
  Model model = of_class("glm4_moe_lite", 154880, 2048, 47, 20, 20, 10240, 202752);
  model.latent_attention = {768, 512, 192, 64, 256};
  model.experts = deepseek_experts(64, 4, 1536, 1);
  return model;
}

Model minimax_m2() {
  Model model = of_class("minimax_m2", 200064, 3072, 62, 48, 8, 1536, 196608);
  model.head_dim = 128;
  model.qk_norm = QkNorm::full;
  model.experts.num_experts = 256;
  model.experts.num_experts_per_tok = 8;
  model.experts.router_bias = true;
  return model;
}

void read_minimax_m2(Model& model, const Keys& keys, Issues& issues) {
  read_jitter(model, keys, issues);
  const auto* turned = keys.find({"rotary_dim"});
  if (turned != nullptr && model.head_dim > 0)
    model.partial_rotary_factor = turned->number / static_cast<double>(model.head_dim);
}

/// The class has no numbers of experts: those of dots.llm1.
Model dots1() {
  Model model = of_class("dots1", 152064, 4608, 62, 32, 32, 10944, 2048);
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 4096;
  model.experts = deepseek_experts(128, 6, 1408, 0);
  model.experts.n_shared_experts = 2;
  return model;
}

Model solar_open() {
  Model model = of_class("solar_open", 196608, 4096, 48, 64, 8, 10240, 131072);
  model.head_dim = 128;
  model.experts = deepseek_experts(128, 8, 1280, 0);
  return model;
}

Model exaone_moe() {
  Model model = of_class("exaone_moe", 102400, 4096, 32, 32, 32, 16384, 2048);
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 4096;
  model.sliding_window_pattern = model.nope_every = 4;
  model.experts = deepseek_experts(64, 8, 1024, 1);
  return model;
}

void read_exaone_moe(Model& model, const Keys& keys, Issues& issues) {
  read_rope_where_sliding(model, keys, issues);
  keys.read(model.experts.n_shared_experts, {"num_shared_experts"});
}

Model ernie4_5_moe() {
  Model model = of_class("ernie4_5_moe", 103424, 2560, 28, 20, 4, 12288, 131072);
  model.tie_word_embeddings = true;
  model.experts = deepseek_experts(64, 6, 1536, 1);
  model.experts.n_shared_experts = 2;
  return model;
}

void read_ernie_moe(Model& model, const Keys& keys, Issues&) {
  set_all_biases(model, keys.flag("use_bias", false));  // the experts' matrices have none
  model.lm_head_bias = model.mlp_bias;
  model.attention_dropout = 0;  // modeling_ernie4_5_moe.py: Ernie4_5_MoeAttention
  keys.read(model.experts.num_experts, {"moe_num_experts"});
  keys.read(model.experts.num_experts_per_tok, {"moe_k"});
  keys.read(model.experts.n_shared_experts, {"moe_num_shared_experts"});
  keys.read(model.experts.moe_layer_freq, {"moe_layer_interval"});
  keys.read(model.experts.first_k_dense_replace, {"moe_layer_start_index"});
}

Model axk1() {
  Model model = of_class("axk1", 163840, 7168, 61, 64, 64, 18432, 32768);
  model.latent_attention = {1536, 512, 128, 64, 128};
  model.experts = deepseek_experts(192, 8, 2048, 1);
  return model;
}

Model mistral4() {
  Model model = of_class("mistral4", 131072, 4096, 36, 32, 32, 12288, 1048576);
  model.latent_attention = {1024, 256, 64, 64, 128};
  model.experts = deepseek_experts(128, 4, 2048, 0);
  model.experts.router_bias = false;
  return model;
}

/// The language model of GLM-4.5V.
Model glm4v_moe() {
  Model model = glm4_moe();
  model.model_type = "glm4v_moe_text";
  model.vocab_size = 151424;
  model.max_position_embeddings = 65536;
  model.attention_bias = true;
  return model;
}

Model youtu() {
  Model model = of_class("youtu", 128256, 2048, 32, 16, 16, 6144, 131072);
  model.tie_word_embeddings = true;
  model.latent_attention = {1536, 512, 128, 64, 128};
  return model;
}

void read_youtu(Model&, const Keys& keys, Issues& issues) {
  if (!keys.flag("rope_interleave", true))
    report_not_modelled_key(issues, "rope_interleave", "Channels that do not turn in pairs are not modelled.");
}

Model minicpm3() {
  Model model = of_class("minicpm3", 73448, 2560, 62, 40, 40, 6400, 32768);
  model.tie_word_embeddings = true;
  model.latent_attention = {768, 256, 64, 32, 0};
  return model;
}

void read_minicpm3(Model& model, const Keys&, Issues&) {
  std::int64_t& values = model.latent_attention.v_head_dim;
  if (values == 0 && model.num_attention_heads > 0) values = model.hidden_size / model.num_attention_heads;
}

Model afmoe() {
  Model model = of_class("afmoe", 200192, 2048, 32, 16, 0, 6144, 16384);
  model.head_dim = 128;
  model.norm_placement = NormPlacement::pre_and_post;
  model.norms_per_layer = 4;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 1024;
  model.sliding_window_pattern = 4;
  model.experts = deepseek_experts(64, 6, 1408, 1);
  model.experts.n_shared_experts = 2;
  return model;
}

void read_afmoe(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.experts.n_shared_experts, {"num_shared_experts"});
  keys.read(model.experts.first_k_dense_replace, {"num_dense_layers"});
  if (keys.find({"layer_types.0"}) == nullptr) keys.read(model.sliding_window_pattern, {"global_attn_every_n_layers"});
  if (!keys.flag("mup_enabled", false))
    report_not_modelled_key(issues, "mup_enabled", "Embeddings of this class that are not scaled are not modelled.");
}

Model hy_v3() {
  Model model = of_class("hy_v3", 120832, 4096, 80, 64, 8, 13312, 131072);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  model.experts = deepseek_experts(192, 8, 1536, 1);
  return model;
}

void read_hy_v3(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.experts.n_shared_experts, {"num_shared_experts"});
  if (!keys.flag("enable_moe_fp32_combine", true))
    report_not_modelled_key(issues, "enable_moe_fp32_combine",
                            "Experts of this class that are added in 16 bits are not modelled.");
}

using enum HuggingFaceClass::AttentionBias;

const HuggingFaceClass classes[] = {
    {deepseek(), all, read_deepseek},
    {deepseek_v2(), all, read_deepseek},
    {deepseek_ocr2(), all, read_deepseek},
    {deepseek_v3(), all},
    {deepseek_v32(), all, read_indexer},
    {glm_moe_dsa(), all, read_indexer},
    {glm4_moe(), queries_keys_values, read_glm4_moe},
    {glm4_moe_lite(), all},
    {minimax_m2(), none, read_minimax_m2},
    {dots1(), all},
    {solar_open(), queries_keys_values},
    {exaone_moe(), none, read_exaone_moe},
    {ernie4_5_moe(), none, read_ernie_moe},
    {axk1(), all, read_youtu},
    {mistral4(), all, read_youtu},
    {glm4v_moe(), queries_keys_values},
    {youtu(), all, read_youtu},
    {minicpm3(), all, read_minicpm3},
    {afmoe(), all, read_afmoe},
    {hy_v3(), all, read_hy_v3},
};

}  // namespace

std::span<const HuggingFaceClass> huggingface_classes_deepseek() { return classes; }

}  // namespace trainmem
