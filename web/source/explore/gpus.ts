// Numbers of GPUs, as a reader types them.

import type { Config } from '../border.js';
import { asNumber } from '../format.js';
import { parseNumber } from '../number_grammar.js';

export const mostGpus = 65536;

/** The number of GPUs that the text means, or why it means none. */
export function readGpus(text: string) {
  return parseNumber(text, { integer: true, minimum: 1, maximum: mostGpus, unit: 'GPUs' });
}

/** How many hold one copy of the model together. */
export function gpusTogether({ recipe }: Config): number {
  const divided = ['tensor_parallel', 'pipeline_parallel', 'context_parallel'] as const;
  return divided.reduce((product, name) => product * (asNumber(recipe?.[name]) || 1), 1);
}
