// Memory technologies and the GPUs that use them, read from presets/ when the page is built.

import type { Preset } from '../border.js';

interface TechnologyFile {
  name: string;
  standard: string;
  bandwidth_gb_per_s_per_stack?: number[];
  bandwidth_gb_per_s_per_device?: number[];
  capacity_gib_per_stack_max?: number;
  capacity_shipped_gib?: number[];
  capacity_gbit_per_device?: number[];
  sources?: string[];
}

export interface Technology {
  id: string;
  name: string;
  standard: string;
  /** Stacks of HBM, or devices (chips) of the others. */
  unit: 'stack' | 'device';
  /** Slowest and fastest of one unit, GB/s. */
  bandwidth: [number, number];
  /** Largest capacity of one unit, GiB; undefined: not stated. */
  capacity: number | undefined;
}

export interface GpuPoint {
  id: string;
  name: string;
  technology: string;
  /** GB/s of the datasheet. */
  bandwidth: number;
  /** GiB. */
  capacity: number;
}

const files = import.meta.glob<TechnologyFile>('../../../presets/memory_technologies/*.json', {
  eager: true,
  import: 'default',
});
const bandwidths = import.meta.glob<number>('../../../presets/gpus/*.json', {
  eager: true,
  import: 'bandwidth_gb_per_s',
});

const idOf = (path: string) => path.slice(path.lastIndexOf('/') + 1, -'.json'.length);

/** Oldest and slowest first, GDDR before HBM. */
const order = [
  'gddr5',
  'gddr5x',
  'gddr6',
  'gddr6x',
  'gddr7',
  'lpddr5x',
  'hbm',
  'hbm2',
  'hbm2e',
  'hbm3',
  'hbm3e',
  'hbm4',
];

function technologyOf(id: string, file: TechnologyFile): Technology {
  const rates = file.bandwidth_gb_per_s_per_stack ?? file.bandwidth_gb_per_s_per_device ?? [];
  const gigabits = Math.max(0, ...(file.capacity_gbit_per_device ?? []));
  const gibibytes = Math.max(0, ...(file.capacity_shipped_gib ?? [file.capacity_gib_per_stack_max ?? 0]), gigabits / 8);
  return {
    id,
    name: file.name,
    standard: file.standard,
    unit: file.bandwidth_gb_per_s_per_stack ? 'stack' : 'device',
    bandwidth: [Math.min(...rates), Math.max(...rates)],
    capacity: gibibytes > 0 ? gibibytes : undefined,
  };
}

export const technologies: readonly Technology[] = Object.entries(files)
  .map(([path, file]) => technologyOf(idOf(path), file))
  .sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id));

export function gpuPoints(presets: readonly Preset[]): GpuPoint[] {
  const rates = new Map(Object.entries(bandwidths).map(([path, rate]) => [idOf(path), rate]));
  return presets
    .map(preset => ({
      id: preset.id,
      name: preset.name,
      technology: String(preset.memory_technology ?? ''),
      bandwidth: rates.get(preset.id) ?? 0,
      capacity: Number(preset.memory_bytes ?? 0) / 2 ** 30,
    }))
    .filter(point => point.bandwidth > 0 && point.capacity > 0);
}
