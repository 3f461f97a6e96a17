// What the choices of a field are called: the names that their authors gave them.

import type { Field } from './border.js';
import { words } from './format.js';

export const optionLabels: Record<string, string> = {
  auto: 'automatic',
  xielu: 'xIELU',
  adamw: 'AdamW',
  adamw_amsgrad: 'AdamW with AMSGrad',
  adamw_8bit: '8-bit AdamW',
  adamw_paged: 'paged AdamW',
  adamw_paged_8bit: 'paged 8-bit AdamW',
  sgd: 'SGD',
  sgd_momentum: 'SGD with momentum',
  adafactor: 'Adafactor',
  adafactor_hf: 'Adafactor (transformers)',
  adagrad: 'Adagrad',
  rmsprop: 'RMSprop',
  nadam: 'NAdam',
  lion: 'Lion',
  lion_8bit: '8-bit Lion',
  muon: 'Muon of matrices, nothing else',
  muon_adamw: 'Muon, AdamW for the rest',
  galore: 'GaLore',
  apollo: 'APOLLO',
  adamw_torchao_8bit: '8-bit AdamW (torchao)',
  adamw_torchao_4bit: '4-bit AdamW (torchao)',
  adamw_torchao_fp8: 'fp8 AdamW (torchao)',
  adamw_schedule_free: 'Schedule-Free AdamW',
  sgd_schedule_free: 'Schedule-Free SGD',
  ademamix: 'AdEMAMix',
  ademamix_8bit: '8-bit AdEMAMix',
  came: 'CAME',
  lamb: 'LAMB',
  sophia: 'Sophia-G',
  radam: 'RAdam',
  adamax: 'Adamax',
  adadelta: 'Adadelta',
  for_loop: 'for loop',
  in_backward: 'in backward',
  pytorch: 'PyTorch',
  megatron: 'Megatron-LM',
  deepspeed: 'DeepSpeed',
  llm_foundry: 'llm-foundry',
  bf16_mixed: 'bf16 mixed',
  fp16_mixed: 'fp16 mixed',
  bf16: 'pure bf16',
  fp16: 'pure fp16',
  bf16_autocast: 'bf16 autocast',
  fp16_autocast: 'fp16 autocast',
  fsdp_bf16: 'FSDP bf16',
  mxfp8: 'MXFP8',
  ddp: 'DDP',
  zero1: 'ZeRO-1',
  zero2: 'ZeRO-2',
  zero3: 'ZeRO-3',
  fsdp: 'FSDP',
  gpipe: 'GPipe',
  '1f1b': '1F1B',
  sdpa: 'SDPA',
  sdpa_math: 'SDPA math',
  flash: 'FlashAttention',
  every_k: 'every k-th layer',
  '0_2_2': '0.2.2',
  before_0_2_2: 'before 0.2.2',
  before_4_46: 'before 4.46',
  next_token: 'next token',
  dpo: 'DPO (preferences)',
  grpo: 'GRPO',
  reward: 'reward model',
  orpo: 'ORPO',
  cpo: 'CPO',
  simpo: 'SimPO',
  kto: 'KTO',
  copy: 'a frozen copy',
  base: 'the model without its adapters',
  precomputed: 'precomputed log-probabilities',
  nf4: 'NF4',
  nf4_double: 'NF4, double quantisation',
};

export function fieldName(field: Field): string {
  return field.path.slice(field.path.lastIndexOf('/') + 1);
}

export function optionLabel(field: Field, option: string): string {
  if (fieldName(field) === 'optimizer' && option === 'none') return 'none (no optimizer)';
  if (fieldName(field) === 'loss' && option === 'full') return 'full fp32 logits';
  if (fieldName(field) !== 'precision' && (option === 'bf16' || option === 'fp16')) return option;
  return optionLabels[option] ?? words(option);
}
