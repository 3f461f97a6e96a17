// Defaults of configuration classes that are new in transformers 5.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.16. An entry lists what differs from Model's own
// defaults.
#include "engine/presets/huggingface_v5_classes.h"

#include <string>

#include "engine/parameters/indexer.h"
#include "engine/presets/huggingface_class_sizes.h"

namespace trainmem {
namespace {

Model make(const char* model_type) {
  Model model;
  model.model_type = model_type;
  return model;
}

Model cwm() {
  Model model = make("cwm");
  sizes(model, 128256, 6144, 64, 48, 8, 21504, 131072);
  model.head_dim = 128;
  model.sliding_window = 8192;
  model.layer_types = "full_attention,3*sliding_attention";
  return model;
}

Model jais2() {
  Model model = make("jais2");
  sizes(model, 150272, 3328, 32, 26, 0, 26624, 8192);
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.attention_bias = model.attention_output_bias = model.mlp_bias = true;
  return model;
}

Model youtu() {
  Model model = make("youtu");
  sizes(model, 128256, 2048, 32, 16, 16, 6144, 131072);
  model.tie_word_embeddings = true;
  model.latent_attention = {1536, 512, 128, 64, 128};
  return model;
}

Model minicpm3() {
  Model model = make("minicpm3");
  sizes(model, 73448, 2560, 62, 40, 40, 6400, 32768);
  model.tie_word_embeddings = true;
  model.latent_attention = {768, 256, 64, 32, 0};
  return model;
}

Model afmoe() {
  Model model = make("afmoe");
  sizes(model, 200192, 2048, 32, 16, 0, 6144, 16384);
  model.head_dim = 128;
  model.norm_placement = NormPlacement::pre_and_post;
  model.norms_per_layer = 4;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 1024;
  model.sliding_window_pattern = 4;
  model.experts = {64, 6, 1408, 2};
  model.experts.first_k_dense_replace = 1;
  model.experts.router_bias = true;
  return model;
}

Model hy_v3() {
  Model model = make("hy_v3");
  sizes(model, 120832, 4096, 80, 64, 8, 13312, 131072);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  model.experts = {192, 8, 1536, 1};
  model.experts.first_k_dense_replace = 1;
  model.experts.router_bias = true;
  return model;
}

Model mellum() {
  Model model = make("mellum");
  sizes(model, 98304, 2304, 28, 32, 4, 7168, 131072);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 1024;
  model.layer_types = "full_attention";
  model.experts = {64, 8, 896};
  return model;
}

Experts deepseek_experts() {
  Experts experts{256, 8, 2048, 1};
  experts.first_k_dense_replace = 3;
  experts.router_bias = true;
  return experts;
}

Model deepseek_v32() {
  Model model = make("deepseek_v32");
  sizes(model, 129280, 7168, 61, 128, 128, 18432, 163840);
  model.latent_attention = {1536, 512, 128, 64, 128};
  model.experts = deepseek_experts();
  return model;
}

Model glm_moe_dsa() {
  Model model = make("glm_moe_dsa");
  sizes(model, 154880, 6144, 78, 64, 64, 12288, 202752);
  model.latent_attention = {2048, 512, 192, 64, 256};
  model.experts = deepseek_experts();
  return model;
}

const Model classes[] = {cwm(),   jais2(),  youtu(),        minicpm3(),   afmoe(),
                         hy_v3(), mellum(), deepseek_v32(), glm_moe_dsa()};

using Keys = HuggingFaceKeys;

void read_youtu(Model&, const Keys& keys, Issues& issues) {
  if (!keys.flag("rope_interleave", true))
    report_not_modelled_key(issues, "rope_interleave", "Channels that do not turn in pairs are not modelled.");
}

void read_minicpm3(Model& model, const Keys&, Issues&) {
  std::int64_t& values = model.latent_attention.v_head_dim;
  if (values == 0 && model.num_attention_heads > 0) values = model.hidden_size / model.num_attention_heads;
}

void read_afmoe(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.experts.n_shared_experts, {"num_shared_experts"});
  keys.read(model.experts.first_k_dense_replace, {"num_dense_layers"});
  if (keys.find({"layer_types.0"}) == nullptr) keys.read(model.sliding_window_pattern, {"global_attn_every_n_layers"});
  if (!keys.flag("mup_enabled", false))
    report_not_modelled_key(issues, "mup_enabled", "Embeddings of this class that are not scaled are not modelled.");
}

void read_hy_v3(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.experts.n_shared_experts, {"num_shared_experts"});
  if (!keys.flag("enable_moe_fp32_combine", true))
    report_not_modelled_key(issues, "enable_moe_fp32_combine",
                            "Experts of this class that are added in 16 bits are not modelled.");
}

/// Sizes of the indexer are facts of the class here, and every layer has its own.
void read_indexer(Model& model, const Keys& keys, Issues& issues) {
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

struct ClassReader {
  std::string_view model_type;
  void (*read)(Model&, const Keys&, Issues&);
};

constexpr ClassReader readers[] = {{"youtu", read_youtu},          {"minicpm3", read_minicpm3},
                                   {"afmoe", read_afmoe},          {"hy_v3", read_hy_v3},
                                   {"deepseek_v32", read_indexer}, {"glm_moe_dsa", read_indexer}};

}  // namespace

const Model* huggingface_v5_defaults(std::string_view model_type) {
  for (const Model& model : classes) {
    if (model.model_type == model_type) return &model;
  }
  return nullptr;
}

void read_v5_class_keys(Model& model, const HuggingFaceKeys& keys, Issues& issues) {
  for (const ClassReader& reader : readers)
    if (model.model_type == reader.model_type) return reader.read(model, keys, issues);
}

}  // namespace trainmem
