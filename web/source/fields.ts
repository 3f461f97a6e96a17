// Which fields stand where, and what they are called. Types, ranges and meanings come from the engine's table;
// a field that is not named here appears under "More", so that every field of a configuration can be reached.

import type { Field, SectionName } from './border.js';
import common from './common_fields.json';
import { capitalized, words } from './format.js';
import { fieldName } from './option_labels.js';

export interface Group {
  title: string;
  fields: Field[];
}

/** The few knobs of the compact view. */
export const compactFields = [
  'micro_batch_size',
  'sequence_length',
  'precision',
  'optimizer',
  'recomputation',
  'data_parallel',
  'data_parallel_size',
  'tensor_parallel',
].map(name => `/recipe/${name}`);

const labels: Record<string, string> = {
  micro_batch_size: 'Micro-batch size',
  sequence_length: 'Sequence length',
  gradient_accumulation_steps: 'Accumulation steps',
  optimizer_implementation: 'Optimizer step',
  data_parallel: 'Data parallelism',
  data_parallel_size: 'Data-parallel GPUs',
  tensor_parallel: 'Tensor parallel',
  pipeline_parallel: 'Pipeline stages',
  context_parallel: 'Context parallel',
  expert_parallel: 'Expert parallel',
  fp8_recipe: 'fp8 recipe',
  attention: 'Attention kernel',
  recomputation: 'Recomputation',
  fused_rope: 'Fused RoPE',
  fsdp_version: 'FSDP version',
  fsdp_wrap_embeddings: 'FSDP wraps embeddings',
  fsdp_forward_prefetch: 'FSDP1 forward prefetch',
  fsdp_backward_prefetch: 'FSDP1 backward prefetch',
  fsdp_gradient_sync: 'FSDP gradient sync',
  ddp_bucket_mb: 'DDP bucket',
  zero_reduce_bucket_size: 'ZeRO reduction bucket',
  zero_overlap_comm: 'ZeRO overlap of reduction',
  zero_prefetch_bucket_size: 'ZeRO-3 prefetch bucket',
  zero_param_persistence_threshold: 'ZeRO-3 persistence threshold',
  zero_max_live_parameters: 'ZeRO-3 live parameters',
  zero_max_reuse_distance: 'ZeRO-3 reuse distance',
  zero_sub_group_size: 'ZeRO-3 sub group',
  vocab_size: 'Vocabulary size',
  num_hidden_layers: 'Layers',
  num_attention_heads: 'Attention heads',
  num_key_value_heads: 'Key and value heads',
  max_position_embeddings: 'Positions at most',
  tie_word_embeddings: 'Tied embeddings',
  hidden_act: 'Activation function',
  qk_norm: 'QK norm',
  lm_head_bias: 'LM head bias',
  nope_every: 'No RoPE every',
  attention_k_eq_v: 'Keys are values',
  num_kv_shared_layers: 'Layers with shared KV',
  use_double_wide_mlp: 'Wide MLP with shared KV',
  hidden_size_per_layer_input: 'Layer embedding size',
  vocab_size_per_layer_input: 'Layer embedding vocabulary',
  altup_num_inputs: 'AltUp streams',
  laurel_rank: 'LAuReL rank',
  activation_sparsity_layers: 'Layers with sparse activations',
  num_mem_blocks: 'Shared blocks',
  adapter_rank: 'Rank beside shared blocks',
  use_shared_attention_adapter: 'Attention adapters of shared blocks',
  bit_linear: 'Ternary weights',
  clip_qkv: 'Clipped QKV',
  memory_bytes: 'Memory, as sold',
  driver_visible_bytes: 'Memory, by the driver',
  usable_bytes: 'Memory, usable',
  bandwidth_gb_per_s: 'Bandwidth',
  measured_bandwidth_gb_per_s: 'Measured bandwidth',
  bf16_dense_tflops: 'bf16 dense TFLOPS',
  num_experts: 'Experts',
  num_experts_per_tok: 'Experts per token',
  n_shared_experts: 'Shared experts',
  first_k_dense_replace: 'Dense layers before experts',
  moe_layer_freq: 'Experts in every n-th layer',
  optimizer_rank: 'Optimizer rank',
  quantization: 'Quantisation',
  vllm_memory_fraction: 'Share of vLLM',
  rank: 'LoRA rank',
  targets: 'LoRA targets',
  dropout: 'LoRA dropout',
};

/** Whole numbers that are nearly always powers of two: the arrow keys double and halve them. */
const doubling = new Set([
  'sequence_length',
  'data_parallel_size',
  'tensor_parallel',
  'pipeline_parallel',
  'context_parallel',
  'expert_parallel',
  'expert_tensor_parallel',
  'hybrid_shard_size',
  'vocabulary_multiple',
  'rank',
]);
const steps: Record<string, number> = {
  hidden_size: 64,
  intermediate_size: 64,
  moe_intermediate_size: 64,
  vocab_size: 64,
  max_position_embeddings: 1024,
  memory_bytes: 2 ** 30,
  driver_visible_bytes: 2 ** 30,
  usable_bytes: 2 ** 30,
  bandwidth_gb_per_s: 100,
  measured_bandwidth_gb_per_s: 100,
};

export function fieldLabel(field: Field): string {
  const name = fieldName(field);
  const text =
    labels[name] ??
    words(name)
      .replace(/\b(lora|kv|qk|nf4|rope|hf)\b/g, word => word.toUpperCase())
      .replace(/\bmoe\b/, 'MoE');
  return capitalized(text);
}

export function isNumeric(field: Field): boolean {
  return field.type === 'integer' || field.type === 'number';
}

/** The value after one press of an arrow key. */
export function step(field: Field, value: number, direction: 1 | -1, keys: { large: boolean; small: boolean }): number {
  const name = fieldName(field);
  let next: number;
  if (doubling.has(name) && !keys.small) {
    const factor = keys.large ? 8 : 2;
    next = direction > 0 ? Math.max(1, value * factor) : Math.floor(value / factor);
  } else {
    const base = steps[name] ?? (field.type === 'integer' ? 1 : value !== 0 && Math.abs(value) < 1 ? 0.01 : 0.1);
    const size = base * (keys.large ? 10 : 1);
    next = value + direction * (keys.small && field.type === 'number' ? size / 10 : size);
    if (field.type === 'number') next = Number(next.toPrecision(12));
  }
  return Math.min(field.maximum ?? Number.POSITIVE_INFINITY, Math.max(field.minimum ?? Number.NEGATIVE_INFINITY, next));
}

/** What an objective alone has stands beside it. */
const ofObjective: Record<string, string> = {
  dpo: 'reference_model',
  kto: 'reference_model',
  grpo: 'completion_length reference_model old_log_probabilities vllm_memory_fraction',
};

/** The common knobs in their groups, then everything else. */
export function groupFields(fields: readonly Field[], objective = ''): { common: Group[]; more: Group[] } {
  const beside = ofObjective[objective]?.split(' ') ?? [];
  const byPath = new Map(fields.map(field => [field.path, field]));
  const taken = new Set<string>();
  const commonGroups = Object.entries(common).map(([title, names]) => {
    const members = names
      .flatMap(name => (name === 'objective' ? [name, ...beside] : name))
      .map(name => byPath.get(`/recipe/${name}`))
      .filter(field => field !== undefined);
    for (const field of members) taken.add(field.path);
    return { title, fields: members };
  });
  const more = new Map<string, Field[]>();
  for (const field of fields) {
    if (taken.has(field.path)) continue;
    const title = moreTitle(field);
    more.set(title, [...(more.get(title) ?? []), field]);
  }
  return {
    common: commonGroups.filter(group => group.fields.length > 0),
    more: [...more].map(([title, members]) => ({ title, fields: members })),
  };
}

function moreTitle(field: Field): string {
  const parts = field.path.split('/').slice(1);
  const section = { model: 'Model', gpu: 'GPU', recipe: 'Recipe' }[parts[0] as SectionName] ?? 'Other';
  const detail = parts.length > 2 ? words(parts[1]!).replace('lora', 'LoRA') : field.group?.toLowerCase();
  return detail && detail !== section.toLowerCase() ? `${section}: ${detail}` : section;
}
