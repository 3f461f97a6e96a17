// Part of reading a config.json: what classes of several groups have alike.
#pragma once

#include <cstdint>

#include "engine/config.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {

/// The sizes of a class; 0: derived from the others.
void sizes(Model& model, std::int64_t vocab_size, std::int64_t hidden_size, std::int64_t layers, std::int64_t heads,
           std::int64_t key_value_heads, std::int64_t intermediate_size, std::int64_t positions);

/// A class that has these sizes, and everything else as Model has it.
Model of_class(const char* model_type, std::int64_t vocab_size, std::int64_t hidden_size, std::int64_t layers,
               std::int64_t heads, std::int64_t key_value_heads, std::int64_t intermediate_size,
               std::int64_t positions);

/// One key says whether all linear layers have biases.
void set_all_biases(Model& model, bool bias);

// Readers of more than one group; HuggingFaceClass::read says when they run.

/// RoPE in the sliding layers only; EXAONE has it everywhere where nothing slides.
void read_rope_where_sliding(Model& model, const HuggingFaceKeys& keys, Issues& issues);

/// The limit of queries, keys and values.
void read_clip_qkv(Model& model, const HuggingFaceKeys& keys, Issues& issues);

/// Refuses router_jitter_noise.
void read_jitter(Model& model, const HuggingFaceKeys& keys, Issues& issues);

/// Layers that have an MLP although their number would have experts: leading ones, others are refused.
void read_mlp_only_layers(Model& model, const HuggingFaceKeys& keys, Issues& issues);

/// Refuses a list of layers without RoPE that is not what nope_every says.
void read_no_rope_layers(Model& model, const HuggingFaceKeys& keys, Issues& issues);

/// Refuses qk_layernorm.
void read_qk_layernorm(Model& model, const HuggingFaceKeys& keys, Issues& issues);

}  // namespace trainmem
